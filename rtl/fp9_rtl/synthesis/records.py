"""Records of synthesis results: the area and delay of one unit, and ratios of two units."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fp9.formats import FixedFormat, Format
from fp9.units import Cast, Dot, Mul, Quantiser, Unit
from fp9.units.hooks import Hook

NOTE = "no wires, no power, no placement: for comparing units side by side"


@dataclass(frozen=True)
class Estimate:
    """Synthesis results of one mapping."""

    mapping: str
    area_um2: float
    logic_um2: float
    flip_flop_um2: float
    nand2: float
    cells: int
    flip_flops: int
    leakage_nw: float  # sum over all cells, each as the mean over its input states
    delay_ns: float
    script: str
    script_areas_um2: tuple[float, ...]  # by ABC script
    seconds: float = field(compare=False)

    @property
    def spread(self) -> float:
        low, high = min(self.script_areas_um2), max(self.script_areas_um2)
        return high / low - 1 if low else 0.0


@dataclass(frozen=True)
class Synthesis:
    """The measured area and delay of one module, with the data to repeat the measurement."""

    top: str
    library: str
    library_sha256: str
    verilog_sha256: str
    yosys: str
    delay_by: str  # OpenSTA, or ABC, which measures only the gates between registers
    recipe: str
    estimates: tuple[Estimate, ...]
    order: int = 0  # seed of the shuffle of the netlist's cells, or 0 for the original order

    def estimate(self, mapping: str) -> Estimate:
        for estimate in self.estimates:
            if estimate.mapping == mapping:
                return estimate
        raise ValueError(f"{self.top} was not mapped by {mapping!r}; ask for it in mappings")

    def to_dict(self) -> dict[str, Any]:
        return {"note": NOTE, **dataclasses.asdict(self)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Synthesis:
        values = {name: value for name, value in record.items() if name != "note"}
        estimates = [Estimate(**{**e, "script_areas_um2": tuple(e["script_areas_um2"])}) for e in values["estimates"]]
        return cls(**{**values, "estimates": tuple(estimates)})


@dataclass(frozen=True)
class Repeats:
    """Areas and delays of one circuit and mapping, for several orders of the netlist's cells."""

    top: str
    library: str
    mapping: str
    areas_um2: tuple[float, ...]
    delays_ns: tuple[float, ...]

    @classmethod
    def of(cls, mapping: str, measured: Sequence[Synthesis]) -> Repeats:
        estimates = [synthesis.estimate(mapping) for synthesis in measured]
        return cls(
            measured[0].top,
            measured[0].library,
            mapping,
            tuple(e.area_um2 for e in estimates),
            tuple(e.delay_ns for e in estimates),
        )

    def to_dict(self) -> dict[str, Any]:
        names = ("area_um2", "area_deviation", "delay_ns", "delay_deviation")
        return {"note": NOTE, **dataclasses.asdict(self), **{name: getattr(self, name) for name in names}}

    @property
    def area_um2(self) -> float:
        return statistics.median(self.areas_um2)

    @property
    def delay_ns(self) -> float:
        return statistics.median(self.delays_ns)

    @property
    def area_deviation(self) -> float:
        return _deviation(self.areas_um2)

    @property
    def delay_deviation(self) -> float:
        return _deviation(self.delays_ns)


def _deviation(values: Sequence[float]) -> float:
    median = statistics.median(values)
    return statistics.stdev(values) / median if median else 0.0


@dataclass(frozen=True)
class RepeatedRatio:
    """Ratio of the median areas and ratio of the median delays of two units."""

    numerator: str
    denominator: str
    library: str
    mapping: str
    area: float
    low: float  # `low` and `high` bound the area ratio over all pairs of measurements
    high: float
    delay: float

    @classmethod
    def of(cls, unit: Repeats, other: Repeats) -> RepeatedRatio:
        if (unit.library, unit.mapping) != (other.library, other.mapping):
            raise ValueError(f"{unit.top} and {other.top} differ in library or mapping; measure both in one flow")
        if not min(other.areas_um2):
            raise ValueError(f"{other.top} has no gates to compare with; choose another unit")
        return cls(
            unit.top,
            other.top,
            unit.library,
            unit.mapping,
            unit.area_um2 / other.area_um2,
            min(unit.areas_um2) / max(other.areas_um2),
            max(unit.areas_um2) / min(other.areas_um2),
            unit.delay_ns / other.delay_ns,
        )


@dataclass(frozen=True)
class Ratio:
    """Area ratio and delay ratio of two units that are synthesised with the same mapping, such as `area-optimised`."""

    numerator: str
    denominator: str
    result: str  # result formats of both units
    subnormals: str  # whether the result formats have subnormal numbers
    library: str
    mapping: str
    area: float
    delay: float


def ratios(unit: Unit, measured: Synthesis, other: Unit, reference: Synthesis) -> tuple[Ratio, ...]:
    """Return the area and delay ratios of `unit` to `other`, for each mapping measured for both units."""
    for what in ("library_sha256", "yosys", "delay_by"):
        if getattr(measured, what) != getattr(reference, what):
            raise ValueError(f"{unit.name} and {other.name} differ in {what}; measure both in one flow")
    shared = [e.mapping for e in measured.estimates if e.mapping in {r.mapping for r in reference.estimates}]
    return tuple(
        Ratio(
            numerator=unit.name,
            denominator=other.name,
            result=_over(_result(unit), _result(other)),
            subnormals=_over(_subnormals(unit), _subnormals(other)),
            library=measured.library,
            mapping=mapping,
            area=_quotient(measured.estimate(mapping).area_um2, reference.estimate(mapping).area_um2, other),
            delay=_quotient(measured.estimate(mapping).delay_ns, reference.estimate(mapping).delay_ns, other),
        )
        for mapping in shared
    )


def _quotient(numerator: float, denominator: float, other: Unit) -> float:
    if not denominator:
        raise ValueError(f"{other.name} has no gates to compare with; choose another unit")
    return numerator / denominator


def _over(numerator: str, denominator: str) -> str:
    return numerator if numerator == denominator else f"{numerator} over {denominator}"


_result_formats: Hook[[], tuple[Format, ...]] = Hook(
    "formats that area is compared by",
    {
        Mul: lambda unit: (unit.result,),
        Dot: lambda unit: (unit.engine.result.format,),
        Quantiser: lambda unit: (unit.block.element,),
        Cast: lambda unit: unit.targets,
    },
    otherwise=lambda unit: (),
)
"""Formats to which a unit rounds its results, or an empty tuple without rounding."""


def _result(unit: Unit) -> str:
    return "/".join(f.name for f in _result_formats(unit)) or "not rounded"


def _subnormals(unit: Unit) -> str:
    formats = _result_formats(unit)
    without = [f for f in formats if isinstance(f, FixedFormat) and not f.subnormals]
    if not formats:
        return "no result"
    if not without:
        return "kept"
    return "none" if len(without) == len(formats) else f"none in {'/'.join(f.name for f in without)}"
