"""Claims about figures that pages state of a circuit: area and delay."""

from __future__ import annotations

import functools
from pathlib import Path

from fp9.units import Unit
from fp9_sim import areas, records
from fp9_sim.campaign.claims import Claim, keep, seconds_of, without_cases
from fp9_sim.records import EARLIER_CIRCUIT, NO_RECORD

# --- areas ------------------------------------------------------------------------------------------------------------


def _unmeasured(unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    record = areas.read(unit, folder)
    if record is None:
        return NO_RECORD, True
    return None if record["circuit_sha256"] == digest else (EARLIER_CIRCUIT, True)


AREA = Claim(
    "area",
    "area and delay in two libraries, as its data sheet states them",
    records.AREAS,
    _unmeasured,
    functools.partial(seconds_of, areas.read),
    functools.partial(without_cases, areas.measure),
    keep,
)
