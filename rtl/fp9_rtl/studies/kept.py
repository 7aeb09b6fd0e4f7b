"""Record of the circuits that the study pages were measured on; every page is checked against it.

A page is always measured as a whole, because its ratios compare units. For each page, the record has the digest of
each measured circuit and of the written figures.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fp9.system.files import write_whole
from fp9.units import CATALOGUE, Unit
from fp9_rtl.export.verilog import circuit_digest
from fp9_rtl.studies import submodules
from fp9_rtl.studies.catalogue import STUDIES
from fp9_rtl.studies.medians import MEDIANS

RECORD = "circuits.json"
"""File name of the record in the folder of the pages."""

PAGES = (*STUDIES, submodules.NAME, *MEDIANS)
"""Names of all studies that have a page."""


@dataclass(frozen=True)
class Page:
    """Record of a page: the SHA-256 of its figures, and of the circuit of each unit by the unit's name.

    A circuit is None for a specification without hardware; the page then says so.
    """

    figures_sha256: str
    circuits: dict[str, str | None]


def units_of(study: str) -> tuple[Unit, ...]:
    """Return the units on a study's page, including units without figures."""
    if study in STUDIES:
        return tuple(variant.unit for variant in STUDIES[study].variants)
    if study in MEDIANS:
        return tuple(dict.fromkeys(unit for units, over in MEDIANS[study].groups for unit in (*units, over)))
    return tuple(CATALOGUE.values())


def studies_of(unit: Unit) -> list[str]:
    """Return the studies that include a unit."""
    return [study for study in PAGES if unit in units_of(study)]


def every_unit() -> tuple[Unit, ...]:
    """Return the units of all studies, without duplicates."""
    return tuple(dict.fromkeys(unit for study in PAGES for unit in units_of(study)))


def figures(page: str) -> str:
    """Return the SHA-256 of a page's tables; its sentences do not count."""
    rows = [line for line in page.splitlines() if line.startswith("|")]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def read(folder: Path) -> dict[str, Page]:
    """Return the record of each page in a folder; empty if there is none.

    Raises ValueError for a file that is not a record.
    """
    path = folder / RECORD
    if not path.exists():
        return {}
    try:
        return {study: Page(**said) for study, said in json.loads(path.read_text()).items()}
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{path} is no record of studies; write it again with `fp9 study --out {folder}`") from None


def keep(study: str, folder: Path) -> None:
    """Add the page of a study, just written, to the record. Raises OSError if it cannot be written.

    Raises ValueError as `read`.
    """
    every = read(folder)
    circuits = {unit.name: circuit_of(unit) for unit in units_of(study)}
    every[study] = Page(figures((folder / f"{study}.md").read_text()), circuits)
    said: dict[str, Any] = {name: asdict(every[name]) for name in PAGES if name in every}
    write_whole(folder / RECORD, json.dumps(said, indent=1) + "\n")


def circuit_of(unit: Unit) -> str | None:
    """Return the digest of a unit's circuit; None for a specification without hardware."""
    try:
        return circuit_digest(unit)
    except ValueError:
        return None


def earlier(unit: Unit, folder: Path) -> list[str]:
    """Return the studies of a unit whose page in a folder was measured on another circuit. Raises ValueError as
    `read`.
    """
    pages, circuit = read(folder), circuit_of(unit)
    return [s for s in studies_of(unit) if s not in pages or pages[s].circuits.get(unit.name, "") != circuit]
