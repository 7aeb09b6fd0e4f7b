"""Write a test bench that compares a unit with its golden model through DPI-C."""

from __future__ import annotations

from fp9.cmodel.dpi import function
from fp9.units import Handshake, Port, Unit
from fp9_sim.packages.verilog_bench import connections

EXAMPLE_COUNT = 2_000


def bench(unit: Unit) -> str:
    """Return the SystemVerilog test bench `NAME_dpi_tb`, which drives random operations.

    The test bench has an input for the clock, so that Verilator does not need coroutines.
    """
    outputs = [port.name for port in unit.outputs]
    lines = [
        f"// Compare {unit.name} with its golden model through DPI-C on random operations; print PASS or FAIL.",
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
    # Inputs change at the falling clock edge. A queue holds the expected results.
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
        '    if (waited == 100 * COUNT) $fatal(1, "no result for a long time: %0d of %0d came", received, COUNT);',
        "  end",
    ]


def clock(unit: Unit) -> str:
    """Return a C++ program for Verilator that drives the clock until the test bench finishes."""
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
