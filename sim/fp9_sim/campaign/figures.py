"""Claims about figures that pages state of a circuit: area and delay, energy, studies, areas beside third-party units.

The records of pages lie beside the pages, in the folder that the folder of all records is in.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from pathlib import Path

from fp9.units import CATALOGUE, Unit
from fp9_rtl.studies import kept
from fp9_sim import areas, records
from fp9_sim.campaign.claims import Claim, keep, seconds_of, without_cases
from fp9_sim.demo import operations
from fp9_sim.energy import data, pages, study
from fp9_sim.records import EARLIER_CIRCUIT, NO_RECORD
from fp9_sim.third_party import area, spec_of

STUDIES, PEERS, TRAINING = "study", "peers", "recipes/training.json"
"""What lies beside the folder of all records: the pages of studies, the mappings and areas of third-party units, and
the record of recipes."""


def _no_seconds(unit: Unit, folder: Path) -> None:
    """Of what no campaign makes no time is known."""


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

# --- energy -----------------------------------------------------------------------------------------------------------


def _without_energy(unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    if unit not in study.UNITS.values():
        return None
    why = study.lacks(unit, study.read(folder.parent / STUDIES), digest)
    return (why, True) if why else None


def _energy_seconds(unit: Unit, folder: Path) -> float | None:
    part = study.read(folder.parent / STUDIES)["units"].get(unit.name)
    return part.get("seconds") if part else None


def _energy(unit: Unit) -> study.Part:
    return study.measured(unit, operations.in_the_layer(data.COUNT)(unit))


def _keep_energy(part: study.Part, folder: Path) -> Path:
    """Put it into the study's record, and draw the study anew."""
    training = folder.parent / TRAINING
    record = study.with_part(study.read(folder), part, training if training.exists() else None)
    return pages.write(record, folder)[0]


def _of_energy(folder: Path) -> Iterable[Unit]:
    return study.UNITS.values()


ENERGY = Claim(
    "energy",
    "the energy of an operation in two libraries, as the study of energy states it",
    f"../{STUDIES}",
    _without_energy,
    _energy_seconds,
    functools.partial(without_cases, _energy),
    _keep_energy,
    units=_of_energy,
)

# --- studies ----------------------------------------------------------------------------------------------------------


def _without_study(unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    """Pages are measured as a whole, for hours: by the command that the reason names."""
    place = folder.parent / STUDIES
    owed = kept.earlier(unit, place)
    why = f"{EARLIER_CIRCUIT}, or none: `fp9 study {' '.join(owed)} --out {place}`"
    return (why, False) if owed else None


def _of_studies(folder: Path) -> Iterable[Unit]:
    return (unit for unit in kept.every_unit() if kept.circuit_of(unit))


STUDY = Claim(
    "study",
    "area and delay beside other units, as the pages of studies state them",
    f"../{STUDIES}",
    _without_study,
    _no_seconds,
    units=_of_studies,
)

# --- third-party units ---------------------------------------------------------------------------------------------


def _beside(folder: Path) -> dict[str, Unit]:
    """The units of ours that stand beside third-party units, by the name of the mapping."""
    record = folder.parent / PEERS / area.RECORD
    names = {one.peer for one in area.read(record)} if record.exists() else set()
    return {name: _as_catalogued(spec_of(record.with_name(f"{name}.toml"))) for name in sorted(names)}


def _as_catalogued(spec: Unit) -> Unit:
    """The unit of the catalogue that a spec is but for its name; the spec where there is none."""
    alike = (unit for unit in CATALOGUE.values() if _called(spec, unit.name) == unit)
    return next(alike, spec)


def _called(unit: Unit, name: str) -> Unit:
    return dataclasses.replace(unit, name=name)  # type: ignore[call-arg]


def _not_beside(unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    names = [name for name, ours in _beside(folder).items() if ours == unit]
    found = area.read(folder.parent / PEERS / area.RECORD) if names else []
    earlier = sorted({one.peer for one in found if one.peer in names and one.circuit_sha256 != digest})
    return (f"{EARLIER_CIRCUIT} beside {', '.join(earlier)}: needs the peers' files", False) if earlier else None


def _of_peers(folder: Path) -> Iterable[Unit]:
    return dict.fromkeys(_beside(folder).values())


BESIDE = Claim(
    "peers",
    "area and delay beside third-party units, as the page of peers states them",
    f"../{PEERS}",
    _not_beside,
    _no_seconds,
    units=_of_peers,
)
