"""Record a unit's area and delay, with the circuit, the cell libraries and the tools."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9.units import Unit
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE
from fp9_rtl.synthesis.records import Synthesis
from fp9_rtl.synthesis.run import synthesise_unit
from fp9_sim import records
from fp9_sim.provenance import provenance


@dataclass(frozen=True)
class Area:
    """Area record of a unit, with one synthesis result for each cell library."""

    unit: str
    spec: tuple[str, ...]
    circuit_sha256: str
    measured: tuple[Synthesis, ...]
    seconds: float
    provenance: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(unit: Unit) -> Area:
    """Measure a unit's area and delay in every cell library that is used for data sheets.

    Raises ValueError if fp9 cannot generate Verilog for the unit, and MissingTool if Yosys or a library is missing.
    """
    started = time.perf_counter()
    measured = tuple(synthesise_unit(unit, library=library) for library in SIDE_BY_SIDE)
    seconds = max(sum(e.seconds for one in measured for e in one.estimates), time.perf_counter() - started)
    circuit = fp9_rtl.circuit_digest(unit)
    return Area(unit.name, tuple(unit.describe()), circuit, measured, round(seconds, 1), provenance())


def read(unit: Unit, folder: Path) -> dict[str, Any] | None:
    """Return the area record of a unit, or None if there is no record. Raises ValueError for an invalid record."""
    return records.read(folder, records.AREA, unit.name)


def measured(record: dict[str, Any]) -> list[Synthesis]:
    return [Synthesis.from_dict(one) for one in record["measured"]]
