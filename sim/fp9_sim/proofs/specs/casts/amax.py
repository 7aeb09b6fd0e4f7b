"""Specification of a running maximum: the result is one of the magnitudes, and no magnitude is larger."""

from __future__ import annotations

from fp9.formats import FixedFormat
from fp9.units import Cast
from fp9_sim.netlists.graphs.function import ACCUMULATOR
from fp9_sim.proofs.miter import Case


def amax_case(unit: Cast) -> Case:
    # The control ignores the last lane.
    return Case("amax", {}, _largest(unit, unit.lane_names("x")), _largest(unit, unit.lane_names("x")[:-1]))


def _largest(unit: Cast, lanes: tuple[str, ...]) -> str:
    source = unit.source
    assert isinstance(source, FixedFormat)
    top = source.bits - 2
    magnitudes = [f"{x}[{top}:0] > {source.max_code} ? 0 : {x}[{top}:0]" for x in lanes]
    candidates = [f"amax_clear ? 0 : {ACCUMULATOR}[{top}:0]", *magnitudes]
    names = [f"candidate{i}" for i in range(len(candidates))]
    declared = [f"  wire [{top}:0] {n} = {value};" for n, value in zip(names, candidates, strict=True)]
    reached = " && ".join(f"amax >= {name}" for name in names)
    attained = " || ".join(f"amax == {name}" for name in names)
    return "\n".join([*declared, f"  assign ok = ({reached}) && ({attained});"])
