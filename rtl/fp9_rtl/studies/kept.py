"""Record of the circuits that were measured for each study page. Every page is checked against this record.

All units on a page are measured together, because the page compares their areas. The record has a digest of each
circuit, and a digest of the figures on each page.
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
    """Record of a page: the SHA-256 of its figures, and the SHA-256 of each unit's circuit.

    The circuit is None for a specification without hardware.
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
    """Return the SHA-256 of a page's tables. Sentences are ignored, so they may change."""
    rows = [line for line in page.splitlines() if line.startswith("|")]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def read(folder: Path) -> dict[str, Page]:
    """Return the record of each page in a folder. The result is empty if the folder has no record.

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
    """Add a study's page to the record. Call this directly after the page was written.

    Raises OSError if the record cannot be written, and ValueError as `read`.
    """
    every = read(folder)
    circuits = {unit.name: circuit_of(unit) for unit in units_of(study)}
    every[study] = Page(figures((folder / f"{study}.md").read_text()), circuits)
    said: dict[str, Any] = {name: asdict(every[name]) for name in PAGES if name in every}
    write_whole(folder / RECORD, json.dumps(said, indent=1) + "\n")


def circuit_of(unit: Unit) -> str | None:
    """Return the digest of a unit's circuit, or None for a specification without hardware."""
    try:
        return circuit_digest(unit)
    except ValueError:
        return None


def earlier(unit: Unit, folder: Path) -> list[str]:
    """Return the studies whose page in a folder shows an older circuit of this unit. Raises ValueError as `read`."""
    pages, circuit = read(folder), circuit_of(unit)
    return [s for s in studies_of(unit) if s not in pages or pages[s].circuits.get(unit.name, "") != circuit]
