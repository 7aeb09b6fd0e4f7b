"""The C++ around a Verilated unit: a loop over arrays, behind plain C functions for `ctypes`."""

from __future__ import annotations

from fp9.units import Port, Unit
from fp9.vectors import port_dtype

PREFIX = "Vunit"
"""Name of the Verilated class."""

STUCK_AFTER = 1000
"""Clocks without an operation or a result after which a unit with stages is given up."""


def shim(unit: Unit) -> str:
    """C++ source with three functions.

    `void *fp9_open()` makes a model of the unit, `void fp9_close(void *)` deletes it, and
    `size_t fp9_run(void *, size_t n, const void *const *inputs, void *const *outputs)` resets it, runs n operations in
    order and returns how many gave a result; the arrays come in port order with the ports' types.
    """
    return _TEMPLATE.format(
        prefix=PREFIX,
        inputs="\n".join(_pointer(port, i, "inputs", "const ") for i, port in enumerate(unit.inputs)),
        outputs="\n".join(_pointer(port, i, "outputs", "") for i, port in enumerate(unit.outputs)),
        drive=" ".join(f"top.{port.name} = in_{port.name}[i];" for port in unit.inputs),
        sample=" ".join(f"out_{port.name}[i] = top.{port.name};" for port in unit.outputs),
        loop=_STREAM.replace("@stuck", str(STUCK_AFTER)) if unit.stages else _SETTLE,
    )


def _pointer(port: Port, index: int, array: str, const: str) -> str:
    ctype = f"{port_dtype(port).name}_t"
    direction = "in" if array == "inputs" else "out"
    return f"    {const}{ctype} *__restrict {direction}_{port.name} = static_cast<{const}{ctype} *>({array}[{index}]);"


_SETTLE = """\
    for (size_t i = 0; i < n; ++i) {
        drive(i);
        top.eval();
        sample(i);
    }
    return n;"""

_STREAM = """\
    const auto clock = [&] { top.clk = 0; top.eval(); top.clk = 1; top.eval(); };
    top.rst = 1;
    top.in_valid = 0;
    top.out_ready = 1;
    clock();
    top.rst = 0;
    size_t taken = 0, given = 0;
    for (unsigned idle = 0; given < n && idle < @stuck; ++idle) {
        top.clk = 0;
        top.in_valid = taken < n;
        if (taken < n) drive(taken);
        top.eval();
        const bool takes = taken < n && top.in_ready;
        if (top.out_valid) { sample(given++); idle = 0; }
        if (takes) { ++taken; idle = 0; }
        top.clk = 1;
        top.eval();
    }
    return given;"""

_TEMPLATE = """\
#include <cstddef>
#include <cstdint>
#include "{prefix}.h"
#include "verilated.h"

namespace {{
struct Model {{
    VerilatedContext context;
    {prefix} top{{&context}};
}};
}}  // namespace

extern "C" {{
__attribute__((visibility("default"))) void *fp9_open() {{ return new Model; }}

__attribute__((visibility("default"))) void fp9_close(void *model) {{ delete static_cast<Model *>(model); }}

__attribute__((visibility("default"))) size_t fp9_run(void *model, size_t n, const void *const *inputs,
                                                      void *const *outputs) {{
    {prefix} &top = static_cast<Model *>(model)->top;
{inputs}
{outputs}
    const auto drive = [&](size_t i) {{ {drive} }};
    const auto sample = [&](size_t i) {{ {sample} }};
{loop}
}}
}}
"""
