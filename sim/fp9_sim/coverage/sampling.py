"""Measurement of functional coverage with cocotb-coverage: bins that a suite hits or misses.

The unit's specification determines all cover points and crosses, as in the coverage models of IBM FPgen.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cocotb_coverage.coverage import CoverCross, CoverPoint, coverage_db
from numpy.typing import NDArray

from fp9.units import Cast, Decoder, Dot, Fpu, Mac, Mul, MultiFpu, Quantiser, Unit, Upcast
from fp9.units.hooks import Hook
from fp9_sim.coverage.accumulators.sequences import mac_model
from fp9_sim.coverage.casts import cast_model
from fp9_sim.coverage.codes import decoder_model, upcast_model
from fp9_sim.coverage.fpus import fpu_model
from fp9_sim.coverage.model import Bin, Cross, Group, Model, joined
from fp9_sim.coverage.multi_fpus import multi_fpu_model
from fp9_sim.coverage.quantisers import quantiser_model
from fp9_sim.coverage.rounded_products import mul_model
from fp9_sim.coverage.sums import dot_model

# Number of holes that the summary of a cover point or cross names.
_NAMED = 12


@dataclass(frozen=True)
class Covered:
    """Coverage of a cover point or cross: the number of bins, and the number of bins that were hit (`met`).

    `holes` holds the bins that were not hit. `impossible` maps each reason to the number of bins that are impossible
    for this reason.
    """

    name: str
    bins: int
    met: int
    holes: tuple[str, ...]
    impossible: Mapping[str, int]

    @property
    def excluded(self) -> int:
        """Return the number of bins that are excluded as impossible."""
        return sum(self.impossible.values())

    @property
    def summary(self) -> str:
        """Return a line that names the first bins that were not hit, or "" if every bin was hit."""
        missing = self.bins - self.met
        more = [f"{missing - _NAMED} more"] if missing > _NAMED else []
        return f"{self.name}: {', '.join([*self.holes[:_NAMED], *more])}" if missing else ""


@dataclass(frozen=True)
class FunctionalCoverage:
    """Coverage of every cover point and cross of a unit, measured over `operations` operations."""

    unit: str
    operations: int
    items: tuple[Covered, ...]

    @property
    def bins(self) -> int:
        """Return the number of bins of all cover points and crosses."""
        return sum(item.bins for item in self.items)

    @property
    def met(self) -> int:
        """Return the number of bins that were hit, over all cover points and crosses."""
        return sum(item.met for item in self.items)

    @property
    def excluded(self) -> int:
        """Return the number of cross bins that are excluded as impossible."""
        return sum(item.excluded for item in self.items)

    @property
    def summary(self) -> list[str]:
        """Return one line for each cover point or cross that has missed bins."""
        return [item.summary for item in self.items if item.summary]

    @property
    def holes(self) -> tuple[str, ...]:
        """Return every bin that was not hit, with the name of its cover point or cross."""
        return tuple(f"{item.name}: {hole}" for item in self.items for hole in item.holes)

    def to_dict(self) -> dict[str, Any]:
        """Return the coverage record as a dictionary for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> FunctionalCoverage:
        """Return the coverage record that a dictionary from `to_dict` describes."""
        items = tuple(Covered(**{**item, "holes": tuple(item["holes"])}) for item in record["items"])
        return cls(record["unit"], record["operations"], items)


model_of: Hook[[], Model] = Hook(
    "coverage model",
    {
        Decoder: decoder_model,
        Upcast: upcast_model,
        Cast: cast_model,
        Quantiser: quantiser_model,
        Mul: mul_model,
        Dot: dot_model,
        Mac: mac_model,
        Fpu: fpu_model,
        MultiFpu: multi_fpu_model,
    },
)
"""Return the coverage model of a unit. Raises ValueError for a kind of unit without a coverage model."""


def measure(
    unit: Unit,
    inputs: Mapping[str, NDArray[Any]],
    outputs: Mapping[str, NDArray[Any]],
    xml: Path | str | None = None,
) -> FunctionalCoverage:
    """Return the functional coverage of the operations in the columns `inputs` and `outputs`.

    If `xml` is given, cocotb-coverage writes its report to the path `xml`.
    """
    model = model_of(unit)
    coverage_db.clear()
    excluded = all_excluded(model)
    samplers = {group.name: _Sampler(unit.name, group, excluded[group.name]) for group in model.groups}
    for name, facts in model.facts(inputs, outputs):
        samplers[name].take(facts)
    if xml is not None:
        coverage_db.export_to_xml(str(xml))
    items = [
        _covered(joined(unit.name, group.name, item), excluded[group.name].get(item, {}))
        for group in model.groups
        for item in (*group.points, *excluded[group.name])
    ]
    return FunctionalCoverage(unit.name, len(next(iter(inputs.values()))), tuple(items))


def cover_points_digest(unit: Unit) -> str:
    """Return the SHA-256 digest of all bins of a unit's coverage model, including impossible bins.

    Raises ValueError for a kind of unit without a coverage model.
    """
    model = model_of(unit)
    points = [(group.name, sorted(group.points.items())) for group in model.groups]
    return hashlib.sha256(repr((points, all_excluded(model))).encode()).hexdigest()


def all_excluded(model: Model) -> dict[str, dict[str, dict[tuple[Bin, ...], str]]]:
    return {group.name: {cross.name: _excluded(group, cross) for cross in group.crosses} for group in model.groups}


def _excluded(group: Group, cross: Cross) -> dict[tuple[Bin, ...], str]:
    every = itertools.product(*(group.points[name] for name in cross.points))
    return {combined: reason for combined in every if (reason := cross.impossible(*combined))}


class _Sampler:
    # For speed, cocotb-coverage is not called for operations without a new bin.

    def __init__(self, unit: str, group: Group, excluded: Mapping[str, Mapping[tuple[Bin, ...], str]]) -> None:
        self._met: list[tuple[tuple[str, ...], set[tuple[Bin | None, ...]]]] = [
            *(((point,), set()) for point in group.points),
            *((cross.points, set()) for cross in group.crosses),
        ]
        self._sample = _sampler(unit, group, excluded)

    def take(self, facts: dict[str, Bin]) -> None:
        new = False
        for points, met in self._met:
            combined = tuple([facts.get(point) for point in points])
            if combined not in met:
                met.add(combined)
                new = new or None not in combined
        if new:
            self._sample(facts)


def _sampler(
    unit: str, group: Group, excluded: Mapping[str, Mapping[tuple[Bin, ...], str]]
) -> Callable[[dict[str, Bin]], None]:
    def sample(facts: dict[str, Bin]) -> None:
        """Do nothing. At each call of this function, the decorators of cocotb-coverage sample `facts`."""

    def full(name: str) -> str:
        return joined(unit, group.name, name)

    decorated: Any = sample
    for point, bins in group.points.items():
        CoverPoint(full(point), xf=lambda facts, point=point: facts.get(point), bins=list(bins))
    for cross in group.crosses:
        items, left_out = [full(point) for point in cross.points], list(excluded[cross.name])
        decorated = CoverCross(full(cross.name), items=items, ign_bins=left_out)(decorated)
    for point in group.points:
        decorated = coverage_db[full(point)](decorated)
    sampling: Callable[[dict[str, Bin]], None] = decorated
    return sampling


def _covered(name: str, excluded: Mapping[tuple[Bin, ...], str]) -> Covered:
    hits = coverage_db[name].detailed_coverage
    holes = [key for key, count in hits.items() if not count]
    reasons: dict[str, int] = {}
    for reason in excluded.values():
        reasons[reason] = reasons.get(reason, 0) + 1
    words = tuple(" x ".join(map(str, hole)) if isinstance(hole, tuple) else str(hole) for hole in holes)
    return Covered(name, len(hits), len(hits) - len(holes), words, reasons)
