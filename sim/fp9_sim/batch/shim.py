"""The C++ around a Verilated unit: a loop over arrays, behind plain C functions for `ctypes`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fp9.units import Port, Unit
from fp9.vectors.sets import port_dtype

PREFIX = "Vunit"
"""Name of the Verilated class."""

STUCK_AFTER = 1000
"""Clocks without an operation or a result after which a unit with stages is given up."""

LANES = "lanes.h"
"""Header that the loop includes: the generated evaluation of a design without state, or nothing."""


def shim(unit: Unit) -> str:
    """C++ source with three functions.

    `void *fp9_open()` makes a model of the unit, `void fp9_close(void *)` deletes it, and
    `size_t fp9_run(void *, size_t n, const void *const *inputs, void *const *outputs, const char **said)` resets it,
    runs n operations in order and returns how many gave a result; the arrays come in port order with the ports' types.
    Where the design ends the simulation, `said` is why.
    """
    return _TEMPLATE.format(
        prefix=PREFIX,
        inputs="\n".join(_pointer(port, i, "inputs", "const ") for i, port in enumerate(unit.inputs)),
        outputs="\n".join(_pointer(port, i, "outputs", "") for i, port in enumerate(unit.outputs)),
        lanes=LANES,
        drive=" ".join(f"top.{port.name} = in_{port.name}[i];" for port in unit.inputs),
        sample=" ".join(f"out_{port.name}[i] = top.{port.name};" for port in unit.outputs),
        loop=_stream(unit) if unit.stages else _SETTLE,
    )


def _stream(unit: Unit) -> str:
    """The loop of a unit with stages: its operations offered without a pause, its results taken at once."""
    inputs = {port.name for port in unit.control_inputs}
    tied = "\n    ".join(f"top.{name} = 1;" for name in ("out_ready", "enable") if name in inputs)
    is_ready = "top.in_ready" if "in_ready" in {port.name for port in unit.control_outputs} else "true"
    words = {"stuck": str(STUCK_AFTER), "tied": tied, "ready": is_ready, "reset": f"top.{unit.reset.port}"}
    words |= {"active": str(unit.reset.active), "idle": str(1 - unit.reset.active)}
    return re.sub(r"@(\w+)", lambda match: words[match[1]], _STREAM)


def lanes(root: str, sources: Sequence[str]) -> str:
    """The text of `LANES`, from the generated header of the root class and the names of the generated sources.

    A combinational design keeps nothing from one evaluation to the next: its root class holds the ports and Verilator's
    own bookkeeping (members that start with two underscores) and every other signal is local. Then each operation can
    have a root of its own, and the compiler evaluates many of them at once in the lanes of a vector register. For any
    other design the text is empty, and operations pass through one model one by one.
    """
    state = root.partition("// DESIGN SPECIFIC STATE")[2].partition("// INTERNAL VARIABLES")[0]
    members = [line.strip() for line in state.splitlines() if line.strip()]
    bookkeeping = re.compile(r"VL_(IN|OUT)\w*\(|\w[^;]* __V\w+;$|//|struct \{$|\};$")
    marked = "__VicoTriggered" in root  # without it no output depends on an input
    if not members or not marked or "// CELLS" in root or not all(bookkeeping.match(member) for member in members):
        return ""
    text = "\n".join(f'#include "{name}"' for name in sources)
    return f"#define FP9_LANES\nnamespace {{\n{text}\n}}\n"


def _pointer(port: Port, index: int, array: str, const: str) -> str:
    ctype = f"{port_dtype(port).name}_t"
    direction = "in" if array == "inputs" else "out"
    return f"    {const}{ctype} *__restrict {direction}_{port.name} = static_cast<{const}{ctype} *>({array}[{index}]);"


_SETTLE = """\
#ifdef FP9_LANES
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) {
        Lane lane;
        drive(lane.root, i);
        @prefix___024root___eval_ico(&lane.root);
        sample(lane.root, i);
    }
#else
    auto &top = static_cast<Model *>(model)->top;
    for (size_t i = 0; i < n; ++i) {
        drive(top, i);
        top.eval();
        sample(top, i);
    }
#endif
    return n;""".replace("@prefix", PREFIX)

_STREAM = """\
    auto &top = static_cast<Model *>(model)->top;
    const auto clock = [&] { top.clk = 0; top.eval(); top.clk = 1; top.eval(); };
    @reset = @active;
    top.in_valid = 0;
    @tied
    clock();
    @reset = @idle;
    size_t taken = 0, given = 0;
    for (unsigned idle = 0; given < n && idle < @stuck; ++idle) {
        top.clk = 0;
        top.in_valid = taken < n;
        if (taken < n) drive(top, taken);
        top.eval();
        const bool takes = taken < n && @ready;
        if (top.out_valid) { sample(top, given++); idle = 0; }
        if (takes) { ++taken; idle = 0; }
        top.clk = 1;
        top.eval();
    }
    return given;"""

_TEMPLATE = """\
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include "{prefix}__pch.h"
#include "{lanes}"

namespace {{
#ifdef FP9_LANES
struct Model {{}};
/* Ports and marks of one operation. What is no port stays as it is, but for the mark that the inputs have changed. */
union Lane {{
    {prefix}___024root root;
    Lane() {{ root.__VicoTriggered[0] = 1; }}
    ~Lane() {{}}
}};
#else
struct Model {{
    VerilatedContext context;
    {prefix} top{{&context}};
}};
#endif
}}  // namespace

/* In place of Verilator's own, which ends the process: loops that do not settle, $fatal and $stop come here. */
void vl_fatal(const char *, int, const char *, const char *message) {{ throw std::runtime_error(message); }}

extern "C" {{
__attribute__((visibility("default"))) void *fp9_open() {{
#ifdef FP9_LANES
    return nullptr;
#else
    return new Model;
#endif
}}

__attribute__((visibility("default"))) void fp9_close(void *model) {{ delete static_cast<Model *>(model); }}

__attribute__((flatten, noinline)) static size_t run([[maybe_unused]] void *model, size_t n,
        const void *const *inputs, void *const *outputs) {{
{inputs}
{outputs}
    const auto drive = [&](auto &top, size_t i) {{ {drive} }};
    const auto sample = [&](const auto &top, size_t i) {{ {sample} }};
{loop}
}}

__attribute__((visibility("default"))) size_t fp9_run(void *model, size_t n, const void *const *inputs,
        void *const *outputs, const char **said) {{
    static thread_local std::string words;
    try {{
        return run(model, n, inputs, outputs);
    }} catch (const std::runtime_error &stopped) {{
        words = stopped.what();
        *said = words.c_str();
        return 0;
    }}
}}
}}
"""
