"""What synthesis measured, as records: the estimates of one unit, and the ratio of two units."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from fp9.formats import FixedFormat, Format
from fp9.units import Cast, Dot, Unit

NOTE = "no wires, no power, no placement: for comparing units side by side"
"""What every report says of its figures."""


@dataclass(frozen=True)
class Estimate:
    """What one mapping measured: areas in um2, delay in ns; `script_areas_um2` are the results it chose among.

    `flip_flop_um2` is the area of everything that holds a bit, `flip_flops` the number of such cells.
    """

    mapping: str
    area_um2: float
    logic_um2: float
    flip_flop_um2: float
    nand2: float
    cells: int
    flip_flops: int
    delay_ns: float
    script: str
    script_areas_um2: tuple[float, ...]
    seconds: float = field(compare=False)

    @property
    def spread(self) -> float:
        """How far the largest of the scripts' areas lies above the smallest: 0.03 is 3 %."""
        low, high = min(self.script_areas_um2), max(self.script_areas_um2)
        return high / low - 1 if low else 0.0


@dataclass(frozen=True)
class Synthesis:
    """The measured area and delay of one module, with everything needed to measure them again.

    `delay_by` names what stated the delays: OpenSTA, or ABC, which counts the gates between registers alone.
    """

    top: str
    library: str
    library_sha256: str
    verilog_sha256: str
    yosys: str
    delay_by: str
    recipe: str
    estimates: tuple[Estimate, ...]

    def estimate(self, mapping: str) -> Estimate:
        """The figures of mapping "A" or "B". Raises ValueError when it was not asked for."""
        for estimate in self.estimates:
            if estimate.mapping == mapping:
                return estimate
        raise ValueError(f"{self.top} was not mapped by {mapping!r}; ask for it in mappings")

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON, with the note that belongs to every report."""
        return {"note": NOTE, **dataclasses.asdict(self)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Synthesis:
        """The inverse of `to_dict`, from what JSON makes of it."""
        values = {name: value for name, value in record.items() if name != "note"}
        estimates = [Estimate(**{**e, "script_areas_um2": tuple(e["script_areas_um2"])}) for e in values["estimates"]]
        return cls(**{**values, "estimates": tuple(estimates)})


@dataclass(frozen=True)
class Ratio:
    """Area and delay of one unit over those of another in one mapping, with what makes the ratio mean something."""

    numerator: str
    denominator: str
    result: str
    subnormals: str
    library: str
    mapping: str
    area: float
    delay: float


def ratios(unit: Unit, measured: Synthesis, other: Unit, reference: Synthesis) -> tuple[Ratio, ...]:
    """The ratios `unit` over `other`, one for each mapping that both were measured in.

    Raises ValueError when the two were measured with different tools or libraries, or `other` has no gates.
    """
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


def _result_formats(unit: Unit) -> tuple[Format, ...]:
    """Formats that the unit rounds to; none where it does not round."""
    if isinstance(unit, Dot):
        return (unit.engine.result,)
    return unit.targets if isinstance(unit, Cast) else ()


def _result(unit: Unit) -> str:
    return "/".join(f.name for f in _result_formats(unit)) or "not rounded"


def _subnormals(unit: Unit) -> str:
    """The subnormal policy of the result."""
    formats = _result_formats(unit)
    without = [f for f in formats if isinstance(f, FixedFormat) and not f.subnormals]
    if not formats:
        return "no result"
    if not without:
        return "kept"
    return "none" if len(without) == len(formats) else f"none in {'/'.join(f.name for f in without)}"
