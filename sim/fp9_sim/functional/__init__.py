"""Functional coverage of a unit's operations, by cocotb-coverage: what a suite meets, and what it leaves out.

Points and crosses follow from the unit spec (IBM FPgen's coverage models); what an operation is at each point follows
from exact values, from the oracle's neighbours, and from the outputs that the circuit gave. Bins that cannot occur are
left out of a cross, each for a reason. Operations that are the same at all points are sampled once.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cocotb_coverage.coverage import CoverCross, CoverPoint, coverage_db
from numpy.typing import NDArray

from fp9.units import Cast, Dot, Mac, Unit
from fp9_sim.functional.casts import cast_model
from fp9_sim.functional.model import Cross, Facts, Model
from fp9_sim.functional.sums import sum_model


@dataclass(frozen=True)
class Covered:
    """A point or cross: its bins, how many were met, those that were not, and why others were left out."""

    name: str
    bins: int
    met: int
    holes: tuple[str, ...]
    impossible: Mapping[str, int]


@dataclass(frozen=True)
class FunctionalCoverage:
    """Every point and cross of a unit after some operations."""

    unit: str
    operations: int
    items: tuple[Covered, ...]

    @property
    def holes(self) -> tuple[str, ...]:
        """Every bin that was not met, with the name of its point or cross."""
        return tuple(f"{item.name}: {hole}" for item in self.items for hole in item.holes)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> FunctionalCoverage:
        """What `to_dict` wrote."""
        items = tuple(Covered(**{**item, "holes": tuple(item["holes"])}) for item in record["items"])
        return cls(record["unit"], record["operations"], items)


def model_of(unit: Unit) -> Model:
    """The coverage model of a unit; ValueError for a kind that has none."""
    if isinstance(unit, Cast):
        return cast_model(unit)
    if isinstance(unit, Dot) and not isinstance(unit, Mac):
        return sum_model(unit)
    raise ValueError(f"{unit.name}: there is no coverage model for units of kind {unit.kind}; give a cast, fma or dot")


def measure(
    unit: Unit,
    inputs: Mapping[str, NDArray[Any]],
    outputs: Mapping[str, NDArray[Any]],
    xml: Path | str | None = None,
) -> FunctionalCoverage:
    """Coverage of operations with the outputs that a circuit gave; `xml` is a file for the library's own report."""
    model = model_of(unit)
    coverage_db.clear()
    excluded = {cross.name: _excluded(model, cross) for cross in model.crosses}
    sample = _sampler(model, excluded)
    columns = [{name: column.tolist() for name, column in part.items()} for part in (inputs, outputs)]
    count = len(next(iter(columns[0].values())))
    seen: set[tuple[tuple[str, object], ...]] = set()
    for i in range(count):
        for facts in model.facts(*({name: column[i] for name, column in part.items()} for part in columns)):
            if (key := tuple(facts.items())) not in seen:
                seen.add(key)
                sample(facts)
    if xml is not None:
        coverage_db.export_to_xml(str(xml))
    items = [_covered(name, excluded.get(name, {})) for name in (*(p.name for p in model.points), *excluded)]
    return FunctionalCoverage(unit.name, count, tuple(items))


def _excluded(model: Model, cross: Cross) -> dict[tuple[object, ...], str]:
    """The impossible bins of a cross, with their reasons."""
    bins = {point.name: point.bins for point in model.points}
    every = itertools.product(*(bins[name] for name in cross.points))
    return {combined: reason for combined in every if (reason := cross.impossible(*combined))}


def _sampler(model: Model, excluded: Mapping[str, Mapping[tuple[object, ...], str]]) -> Any:
    """A function that samples every point, then every cross."""

    def sample(facts: Facts) -> None:
        """The library reads the argument."""

    decorated: Any = sample
    for point in model.points:
        CoverPoint(point.name, xf=lambda facts, name=point.name: facts.get(name), bins=list(point.bins))
    for cross in model.crosses:
        decorated = CoverCross(cross.name, items=list(cross.points), ign_bins=list(excluded[cross.name]))(decorated)
    for point in model.points:
        decorated = coverage_db[point.name](decorated)
    return decorated


def _covered(name: str, excluded: Mapping[tuple[object, ...], str]) -> Covered:
    hits = coverage_db[name].detailed_coverage
    holes = [key for key, count in hits.items() if not count]
    reasons: dict[str, int] = {}
    for reason in excluded.values():
        reasons[reason] = reasons.get(reason, 0) + 1
    words = tuple(" x ".join(map(str, hole)) if isinstance(hole, tuple) else str(hole) for hole in holes)
    return Covered(name, len(hits), len(hits) - len(holes), words, reasons)
