"""Write the C++ shim of a Verilated unit: plain C functions that run arrays of operations."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fp9.units import Port, Unit
from fp9.vectors.sets import port_dtype
from fp9_sim.batch.exposed import Exposed

# Name of the C++ class that Verilator generates.
PREFIX = "Vunit"

# Clock cycles without operation or result after which a unit counts as stuck.
STUCK_AFTER = 1000

# Header of the shim. For a design without state, it holds the code that evaluates the design; otherwise it is empty.
LANES = "lanes.h"


# Number of parallel streams. Their registers and next operations fit into the processor's cache.
SIDE_BY_SIDE = 256

# Number of operations that are read from a stream at once.
AHEAD = 8


def shim(unit: Unit, exposed: Exposed | None = None) -> str:
    """Return the C++ source of a unit's shim.

    `void *fp9_open()` creates a model of the unit, and `void fp9_close(void *)` deletes the model.

    `size_t fp9_run(void *, const size_t *edges, size_t streams, const void *const *inputs, void *const *outputs, const
    char **said)` runs operations and returns the number of results.
    """
    # Stream i starts from reset and runs the operations `edges[i]` to `edges[i + 1]` - 1 in order. The input and output
    # arrays are in port order, with the smallest unsigned C type that holds each port. If the design ends the
    # simulation, `fp9_run` sets `*said` to a C string that states the reason.
    return _TEMPLATE.format(
        prefix=PREFIX,
        inputs="\n".join(_pointer(port, i, "inputs", "const ") for i, port in enumerate(unit.inputs)),
        outputs="\n".join(_pointer(port, i, "outputs", "") for i, port in enumerate(unit.outputs)),
        lanes=LANES,
        drive=" ".join(f"top.{port.name} = in_{port.name}[i];" for port in unit.inputs),
        sample=" ".join(f"out_{port.name}[i] = top.{port.name};" for port in unit.outputs),
        loop=_loop(unit, exposed),
    )


def _loop(unit: Unit, exposed: Exposed | None) -> str:
    if exposed is not None:
        return _streams(unit, exposed)
    return _stream(unit) if unit.stages else _SETTLE


def _stream(unit: Unit) -> str:
    # The C++ loop offers operations without pauses and takes results immediately.
    return _filled(_STREAM, _control(unit))


def _streams(unit: Unit, exposed: Exposed) -> str:
    # One evaluation of the exposed design advances all streams by one clock cycle.
    registers = list(zip(exposed.before, exposed.after, strict=True))
    words = _control(unit) | {
        "side_by_side": str(SIDE_BY_SIDE),
        "ahead": str(AHEAD),
        "buffers": "\n".join(
            [_buffer(port, f"[{AHEAD}]") for port in unit.inputs]
            + [_buffer(port) for port in (*unit.outputs, *exposed.before)]
        ),
        "clear": " ".join(f"kept.{held.name}[s] = 0;" for held in exposed.before),
        "read": " ".join(f"read(in_{port.name}, kept.{port.name});" for port in unit.inputs),
        "drive": " ".join(
            [f"top.{port.name} = kept.{port.name}[turn][s];" for port in unit.inputs]
            + [f"top.{port.name} = kept.{port.name}[s];" for port in exposed.before]
        ),
        "sample": " ".join(f"kept.{port.name}[s] = top.{port.name};" for port in unit.outputs),
        "keep": " ".join(f"kept.{held.name}[s] = top.{taken.name};" for held, taken in registers),
        "give": " ".join(f"out_{port.name}[i] = kept.{port.name}[s];" for port in unit.outputs),
    }
    return _filled(_STREAMS, words)


def _control(unit: Unit) -> dict[str, str]:
    inputs = {port.name for port in unit.control_inputs}
    tied = " ".join(f"top.{name} = 1;" for name in ("out_ready", "enable") if name in inputs)
    is_ready = "top.in_ready" if "in_ready" in {port.name for port in unit.control_outputs} else "true"
    words = {"stuck": str(STUCK_AFTER), "tied": tied, "ready": is_ready, "reset": f"top.{unit.reset.port}"}
    return words | {"active": str(unit.reset.active), "idle": str(1 - unit.reset.active)}


def _filled(template: str, words: Mapping[str, str]) -> str:
    return re.sub(r"@(\w+)", lambda match: words[match[1]], template)


def _buffer(port: Port, turns: str = "") -> str:
    return f"        {port_dtype(port).name}_t {port.name}{turns}[{SIDE_BY_SIDE}];"


def lanes(root: str, sources: Mapping[str, str], initial: str) -> str:
    """Return a C++ header that evaluates many operations at a time, or an empty string for a design with state.

    `root` is the text of the header with Verilator's root class. `sources` maps the name of each file that Verilator
    generates to the file's text. `initial` is the start-up code that Verilator generates.
    """
    # Each operation has its own instance of the root class, so that the compiler can evaluate many operations in one
    # vector register. Constant outputs are set once, when an instance is created.
    state = root.partition("// DESIGN SPECIFIC STATE")[2].partition("// INTERNAL VARIABLES")[0]
    members = [line.strip() for line in state.splitlines() if line.strip()]
    bookkeeping = re.compile(r"VL_(IN|OUT)\w*\(|\w[^;]* __V\w+;$|//|struct \{$|\};$")
    marked = "__VicoTriggered" in root  # without this trigger, no output depends on an input
    if not members or not marked or "// CELLS" in root or not all(bookkeeping.match(member) for member in members):
        return ""
    outputs = re.findall(r"VL_OUT\w*\(&?(\w+)", state)
    constants = {place: value for place, value in _CONSTANT.findall(initial) if place.partition("[")[0] in outputs}
    given = " ".join([*sources.values(), *(f"{place} = {value}" for place, value in constants.items())])
    if not all(re.search(rf"\b{name}(\[\w+\])? = ", given) for name in outputs):
        return ""
    start = " ".join(f"root.{place} = {value};" for place, value in constants.items())
    text = "\n".join(f'#include "{name}"' for name in sources)
    return f"#define FP9_LANES\n#define FP9_CONSTANTS {start}\nnamespace {{\n{text}\n}}\n"


_CONSTANT = re.compile(r"^ *vlSelfRef\.(\w+(?:\[\w+\])?) = (\w+);$", re.MULTILINE)


def _pointer(port: Port, index: int, array: str, const: str) -> str:
    ctype = f"{port_dtype(port).name}_t"
    direction = "in" if array == "inputs" else "out"
    return f"    {const}{ctype} *__restrict {direction}_{port.name} = static_cast<{const}{ctype} *>({array}[{index}]);"


_SETTLE = """\
    /* Copies: a store could alias `edges`, and the compiler would not vectorise the loop. */
    const size_t first = edges[0], last = edges[1];
#ifdef FP9_LANES
#pragma GCC ivdep
    for (size_t i = first; i < last; ++i) {
        Lane lane;
        drive(lane.root, i);
        evaluate(lane.root);
        sample(lane.root, i);
    }
#else
    auto &top = static_cast<Model *>(model)->top;
    for (size_t i = first; i < last; ++i) {
        drive(top, i);
        evaluate(top);
        sample(top, i);
    }
#endif
    return last - first;"""

_STREAM = """\
    auto &top = static_cast<Model *>(model)->top;
    const auto clock = [&] { top.clk = 0; top.eval(); top.clk = 1; top.eval(); };
    @reset = @active;
    top.in_valid = 0;
    @tied
    clock();
    @reset = @idle;
    const size_t n = edges[1];
    size_t taken = edges[0], given = edges[0];
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
    return given - edges[0];"""

_STREAMS = """\
    struct Kept {
@buffers
        uint8_t ready[@side_by_side], valid[@side_by_side];
    };
    const auto owner = std::make_unique<Kept>();
    Kept &kept = *owner;
#ifndef FP9_LANES
    auto &top = static_cast<Model *>(model)->top;
#endif
    const auto clock = [&](bool reset, bool valid, size_t turn) {
#pragma GCC ivdep
        for (size_t s = 0; s < @side_by_side; ++s) {
#ifdef FP9_LANES
            Lane lane;
            auto &top = lane.root;
#endif
            @drive
            @reset = reset;
            top.in_valid = valid;
            @tied
            evaluate(top);
            @sample
            @keep
            kept.ready[s] = @ready;
            kept.valid[s] = top.out_valid;
        }
    };
    const auto together = [](const uint8_t *flags, size_t count) {
        size_t set = 0;
        for (size_t s = 0; s < count; ++s) set += flags[s];
        if (set != 0 && set != count) throw std::runtime_error("streams do not advance together; run without streams");
        return set != 0;
    };
    size_t done = 0;
    for (size_t first = 0; first < streams; first += @side_by_side) {
        const size_t count = std::min<size_t>(@side_by_side, streams - first), *const from = edges + first;
        size_t steps = 0, taken = 0, given = 0, known = 0;
        for (size_t s = 0; s < count; ++s) steps = std::max(steps, from[s + 1] - from[s]);
        for (size_t s = 0; s < @side_by_side; ++s) { @clear }
        clock(@active, false, 0);
        for (unsigned idle = 0; given < steps && idle < @stuck; ++idle) {
            const bool offers = taken < steps;
            /* A finished stream offers its last operation again. Its result is discarded. */
            const auto read = [&](const auto *in, auto &next) {
                for (size_t s = 0; s < count; ++s) {
                    const size_t i = from[s] + taken, last = from[s + 1] - 1;
                    if (i + @ahead <= from[s + 1])
                        for (size_t t = 0; t < @ahead; ++t) next[t][s] = in[i + t];
                    else
                        for (size_t t = 0; t < @ahead; ++t) next[t][s] = in[std::min(i + t, last)];
                }
            };
            if (offers && taken == known) { @read known += @ahead; }
            clock(@idle, offers, taken % @ahead);
            if (offers && together(kept.ready, count)) { ++taken; idle = 0; }
            if (!together(kept.valid, count)) continue;
            for (size_t s = 0; s < count; ++s) {
                const size_t i = from[s] + given;
                if (i >= from[s + 1]) continue;
                @give
                ++done;
            }
            ++given;
            idle = 0;
        }
    }
    return done;"""

_TEMPLATE = """\
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include "{prefix}__pch.h"
#include "{lanes}"

namespace {{
#ifdef FP9_LANES
struct Model {{}};
/* The model's state for one operation: only ports, constants and the flag for changed inputs are set. */
union Lane {{
    {prefix}___024root root;
    Lane() {{ root.__VicoTriggered[0] = 1; FP9_CONSTANTS }}
    ~Lane() {{}}
}};
inline void evaluate({prefix}___024root &root) {{ {prefix}___024root___eval_ico(&root); }}
#else
struct Model {{
    VerilatedContext context;
    {prefix} top{{&context}};
}};
inline void evaluate({prefix} &top) {{ top.eval(); }}
#endif
}}  // namespace

/* Replaces Verilator's function, which ends the process at $fatal, $stop and loops that do not settle. */
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

__attribute__((flatten, noinline)) static size_t run([[maybe_unused]] void *model,
        const size_t *edges, [[maybe_unused]] size_t streams, const void *const *inputs, void *const *outputs) {{
{inputs}
{outputs}
    [[maybe_unused]] const auto drive = [&](auto &top, size_t i) {{ {drive} }};
    [[maybe_unused]] const auto sample = [&](const auto &top, size_t i) {{ {sample} }};
{loop}
}}

__attribute__((visibility("default"))) size_t fp9_run(void *model, const size_t *edges, size_t streams,
        const void *const *inputs, void *const *outputs, const char **said) {{
    static thread_local std::string words;
    try {{
        return run(model, edges, streams, inputs, outputs);
    }} catch (const std::runtime_error &stopped) {{
        words = stopped.what();
        *said = words.c_str();
        return 0;
    }}
}}
}}
"""
