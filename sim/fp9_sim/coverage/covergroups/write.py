"""Write the SystemVerilog package that samples a unit's functional coverage."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fp9.units import Cast, Decoder, Dot, Fma, Fpu, Mac, Mul, MultiFpu, Quantiser, Unit, Upcast
from fp9.units.hooks import Hook
from fp9_sim.coverage.covergroups.casts import cast
from fp9_sim.coverage.covergroups.codes import decoder, mul, upcast
from fp9_sim.coverage.covergroups.fpus import fpu, multi_fpu
from fp9_sim.coverage.covergroups.groups import CoverGroup, identifier
from fp9_sim.coverage.covergroups.macs import mac
from fp9_sim.coverage.covergroups.numbers import COMMON, INFINITE, Numbers
from fp9_sim.coverage.covergroups.part import Part
from fp9_sim.coverage.covergroups.quantisers import quantiser
from fp9_sim.coverage.covergroups.sums import dot
from fp9_sim.coverage.sampling import all_excluded, model_of
from fp9_sim.templates import filled

_WRITERS: dict[type[Unit], Callable[[Part, Any], str]] = {
    Decoder: decoder,
    Upcast: upcast,
    Cast: cast,
    Quantiser: quantiser,
    Mul: mul,
    Fma: dot,
    Dot: dot,
    Mac: mac,
    Fpu: fpu,
    MultiFpu: multi_fpu,
}


def has_coverage(unit: Unit) -> bool:
    # No port of an accumulator with chunks shows the sum of an open chunk. A block of several operations has no
    # operation at which all its elements are visible.
    return _visible(unit)


_visible: Hook[[], bool] = Hook(
    "SystemVerilog coverage",
    {Mac: lambda unit: not unit.chunk_steps, Quantiser: lambda unit: unit.group == 1},
    otherwise=lambda unit: type(unit) in _WRITERS,
    every_kind=False,
)


def coverage_package(unit: Unit) -> str:
    """Return the SystemVerilog package `NAME_coverage` with the functions `sample`, `restart` and `report`.

    The SystemVerilog package has the same coverage bins as fp9's Python coverage model of the unit. Raises KeyError for
    a kind of unit without SystemVerilog coverage.
    """
    model = model_of(unit)
    excluded = all_excluded(model)
    numbers = Numbers()
    groups = {g.name: CoverGroup(_prefix(g.name), g, excluded[g.name]) for g in model.groups}
    part = Part(unit, "", groups, numbers)
    function = _WRITERS[type(unit)](part, unit)
    declared = "\n".join(group.declared() for group in groups.values())
    restart = [f"    {name} = {start};" for name, (_, start) in part.state.items()]
    report = [f"    {line}" for group in groups.values() for line in group.reported(unit.name)]
    words = {
        "name": unit.name,
        "width": numbers.width,
        "infinite": INFINITE,
        "numbers": numbers.text,
        "groups": declared,
        "function": _indented(function),
        "restart": "\n".join(restart),
        "report": "\n".join(report),
        "largest": max(group.largest for group in groups.values()),
    }
    return _compiled_once(filled(_PACKAGE.replace("@{common}", COMMON), words))


def _compiled_once(text: str) -> str:
    """Let Verilator compile each function that returns a value once, and not at each of its calls."""
    return re.sub(
        r"^(  function automatic (?!void).*\);)$", r"\1  // verilator no_inline_task", text, flags=re.MULTILINE
    )


def _prefix(name: str) -> str:
    return identifier("g", name) if name else "unit"


def _indented(text: str) -> str:
    depth, lines = 0, []
    for line in text.splitlines():
        word = line.strip()
        depth -= word.startswith("end") and not word.startswith("endfunction")
        lines.append("  " * depth + line)
        depth += word.endswith("begin")
    return "\n".join(lines)


_PACKAGE = """\
// Functional coverage of @{name}. Call sample() for each operation, restart() for each reset, and report() at the end.
// Counters work in every simulator. With +define+COVERGROUPS, covergroups with the same bins are sampled, too.
/* verilator lint_off WIDTHTRUNC */
/* verilator lint_off WIDTHEXPAND */
package @{name}_coverage;
  localparam int W = @{width};  // bits of exact sums
  localparam int NONE = -(1 << 30);  // the exponent of no term
  typedef logic signed [W-1:0] wide_t;

@{common}  // --- formats

@{numbers}
@{groups}
  // --- operations

@{function}

  // Start a new sequence of operations after a reset.
  function automatic void restart();
@{restart}
  endfunction

  // Print the hit and missed bins of all cover points and crosses.
  function automatic void report();
    logic [@{largest}-1:0] impossible;
    int met;
@{report}
  endfunction
endpackage
"""
