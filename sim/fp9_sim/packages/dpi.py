"""The golden model of a unit for SystemVerilog benches: a C library with one function a unit, its DPI-C import, an
example.

The library embeds Python and asks fp9 itself, so that what a bench compares with is the golden model and no second one
(docs/decisions.md).
"""

from __future__ import annotations

from fp9.units import Handshake, Port, Unit
from fp9.units.toml import dumps
from fp9_sim.packages.verilog_bench import connections

EXAMPLE_COUNT = 2_000
"""Operations that the example's bench draws."""


def function(unit: Unit) -> str:
    """The name of a unit's function."""
    return f"{unit.name}_model"


def library(unit: Unit) -> str:
    """C source of the shared library: `NAME_model`, and `NAME_model_reset` for a unit with state."""
    inputs = [f"unsigned long long {port.name}" for port in unit.inputs]
    outputs = [f"unsigned long long *{name}" for name in (*(port.name for port in unit.outputs), "meaning")]
    return _LIBRARY.format(
        name=unit.name,
        function=function(unit),
        spec="\n".join(f'    "{_escaped(line)}\\n"' for line in dumps(unit).splitlines()),
        parameters=", ".join([*inputs, *outputs]),
        reset="\n".join(_RESET.format(function=function(unit)).splitlines()) + "\n" if unit.has_state else "",
        codes="K" * len(unit.inputs),
        inputs=", ".join(port.name for port in unit.inputs),
        stores="\n".join(
            f"  *{name} = PyLong_AsUnsignedLongLong(PyTuple_GetItem(results, {place}));"
            for place, name in enumerate((*(port.name for port in unit.outputs), "meaning"))
        ),
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


_LIBRARY = """\
// Golden model of {name} for DPI-C and C: fp9 itself, in an embedded Python (FP9_PYTHON, the one that has fp9).
// Codes of all inputs in, codes of all outputs out; bit i of `meaning` is 1 where output i carries meaning.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdio.h>
#include <stdlib.h>

static const char spec[] =
{spec};

static PyObject *model;

static void stop(const char *what) {{
  if (Py_IsInitialized() && PyErr_Occurred()) PyErr_Print();
  fprintf(stderr, "{function}: %s\\n", what);
  exit(2);
}}

static void start_python(void) {{
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;  // Ctrl-C is the simulator's
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, FP9_PYTHON);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) stop("Python does not start: " FP9_PYTHON);
  PyEval_SaveThread();  // each call takes the interpreter, from whichever thread it comes
}}

static PyGILState_STATE take(void) {{
  if (!Py_IsInitialized()) start_python();
  PyGILState_STATE state = PyGILState_Ensure();
  if (!model) {{
    PyObject *golden = PyImport_ImportModule("fp9.golden");
    if (golden) model = PyObject_CallMethod(golden, "model_of", "s", spec);
    if (!model) stop("fp9 is not installed for " FP9_PYTHON ", or does not know this unit");
  }}
  return state;
}}

void {function}({parameters}) {{
  PyGILState_STATE state = take();
  PyObject *results = PyObject_CallMethod(model, "step", "{codes}", {inputs});
  if (!results) stop("the model refuses the operation");
{stores}
  Py_DECREF(results);
  PyGILState_Release(state);
}}
{reset}"""

_RESET = """
void {function}_reset(void) {{
  PyGILState_STATE state = take();
  PyObject *none = PyObject_CallMethod(model, "reset", NULL);
  if (!none) stop("the model refuses the reset");
  Py_DECREF(none);
  PyGILState_Release(state);
}}"""


def imports(unit: Unit) -> str:
    """SystemVerilog package `NAME_dpi` with the imports of the functions."""
    ports = [f"    input longint unsigned {port.name}" for port in unit.inputs]
    ports += [f"    output longint unsigned {port.name}" for port in unit.outputs]
    ports += ["    output longint unsigned meaning"]
    reset = [f'  import "DPI-C" function void {function(unit)}_reset();'] if unit.has_state else []
    return "\n".join(
        [
            f"// The golden model of {unit.name}: bit i of meaning is 1 where output i carries meaning.",
            f"package {unit.name}_dpi;",
            f'  import "DPI-C" function void {function(unit)}(',
            ",\n".join(ports),
            "  );",
            *reset,
            "endpackage",
            "",
        ]
    )


def bench(unit: Unit) -> str:
    """SystemVerilog bench `NAME_dpi_tb`: drawn operations on the unit, each held to the model's results.

    Its clock comes from outside (`clock`), so that a Verilator without coroutines runs it, too.
    """
    outputs = [port.name for port in unit.outputs]
    lines = [
        f"// Drawn operations of {unit.name} held to its golden model by DPI-C: PASS or FAIL at the end.",
        f"module {unit.name}_dpi_tb (input logic clk);",
        f"  import {unit.name}_dpi::*;",
        f"  localparam int COUNT = {EXAMPLE_COUNT};",
        *(f"  logic {_range(port)}{port.name};" for port in (*unit.inputs, *unit.outputs)),
        "  int received, mismatches;",
        "",
        "  typedef struct {",
        *(f"    longint unsigned {name};" for name in (*outputs, "meaning")),
        "  } results_t;",
        "",
        "  function automatic results_t model();",
        f"    {function(unit)}({', '.join(_call(unit))});",
        "  endfunction",
        "",
        "  task automatic check(results_t expected);",
        *_checks(unit),
        "    received++;",
        "  endtask",
        "",
        "  task automatic finish();",
        '    if (mismatches == 0) $display("PASS: %0d operations", received);',
        '    else $display("FAIL: %0d mismatches in %0d operations", mismatches, received);',
        "    $finish;",
        "  endtask",
        "",
        "  task automatic draw();",
        *(f"    {port.name} = {port.width}'({{$urandom, $urandom}});" for port in unit.inputs),
        "  endtask",
        "",
    ]
    return "\n".join([*lines, *(_clocked(unit) if unit.stages else _combinational(unit)), "endmodule", ""])


def _range(port: Port) -> str:
    return f"[{port.width - 1}:0] " if port.width > 1 else ""


def _call(unit: Unit) -> list[str]:
    inputs = [f"64'({port.name})" for port in unit.inputs]
    return [*inputs, *(f"model.{name}" for name in (*(port.name for port in unit.outputs), "meaning"))]


def _checks(unit: Unit) -> list[str]:
    lines = []
    for place, port in enumerate(unit.outputs):
        found, expected = f"64'({port.name})", f"expected.{port.name}"
        lines += [
            f"    if (expected.meaning[{place}] && {found} !== {expected}) begin",
            f'      $display("operation %0d: {port.name} %h, not %h", received, {port.name}, {expected});',
            "      mismatches++;",
            "    end",
        ]
    return lines


def _combinational(unit: Unit) -> list[str]:
    return [
        f"  {unit.name} unit ({connections(unit)});",
        "",
        "  initial draw();",
        "",
        "  always @(posedge clk) begin",
        "    check(model());",
        "    if (received == COUNT) finish();",
        "  end",
        "",
        "  always @(negedge clk) draw();",
    ]


def _clocked(unit: Unit) -> list[str]:
    """Inputs change at the falling edge; what was taken waits in a queue for its result."""
    waits = unit.handshake is Handshake.READY
    return [
        "  logic rst, in_valid, out_ready, out_valid, taken;",
        "  wire in_ready;" if waits else "  wire in_ready = 1'b1;",
        "  int waited;",
        "  results_t expected [$];",
        f"  {unit.name} unit ({connections(unit)});",
        "",
        "  initial begin",
        "    {in_valid, out_ready} = 0;",
        "    {rst, taken} = '1;",
        "    draw();",
        "  end",
        "",
        "  always @(negedge clk) begin",
        "    rst = waited < 2;",
        "    if (taken && !rst) begin",
        "      in_valid = $urandom % 4 != 0;",
        "      draw();",
        "    end",
        f"    out_ready = {'$urandom % 4 != 0' if waits else 1};",
        "  end",
        "",
        "  always @(posedge clk) begin",
        "    waited++;",
        "    taken = !in_valid || in_ready;",
        "    if (!rst && in_valid && in_ready) expected.push_back(model());",
        "    if (!rst && out_valid && out_ready) check(expected.pop_front());",
        "    if (received == COUNT) finish();",
        '    if (waited == 100 * COUNT) $fatal(1, "no result for so long: %0d of %0d came", received, COUNT);',
        "  end",
    ]


def clock(unit: Unit) -> str:
    """C++ program for Verilator that clocks the bench until it finishes."""
    top = f"{unit.name}_dpi_tb"
    return "\n".join(
        [
            f"// Clocks {top} until it finishes.",
            f'#include "V{top}.h"',
            '#include "verilated.h"',
            "",
            "double sc_time_stamp() { return 0; }",
            "",
            "int main(int argc, char** argv) {",
            "  Verilated::commandArgs(argc, argv);",
            f"  V{top} top;",
            "  for (top.clk = 0; !Verilated::gotFinish(); top.clk = !top.clk) top.eval();",
            "  top.final();",
            "}",
            "",
        ]
    )
