"""Of which circuits the pages of studies are: a record beside them, which every page is held to.

A page is made as a whole, as its ratios are of units side by side. The record says of it the digest of each circuit
that was measured, and that of the figures which were written.
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
"""Its name in the folder of the pages."""

PAGES = (*STUDIES, submodules.NAME, *MEDIANS)
"""Every study that has a page."""


@dataclass(frozen=True)
class Page:
    """What the record says of a page: SHA-256 of its figures, and of the circuit of each unit, by the unit's name; None
    for a spec that has no hardware, of which a page says so."""

    figures_sha256: str
    circuits: dict[str, str | None]


def units_of(study: str) -> tuple[Unit, ...]:
    """The units whose figures the page of a study states, or says that there are none of."""
    if study in STUDIES:
        return tuple(variant.unit for variant in STUDIES[study].variants)
    if study in MEDIANS:
        return tuple(dict.fromkeys(unit for units, over in MEDIANS[study].groups for unit in (*units, over)))
    return tuple(CATALOGUE.values())


def studies_of(unit: Unit) -> list[str]:
    """The studies that have a unit."""
    return [study for study in PAGES if unit in units_of(study)]


def every_unit() -> tuple[Unit, ...]:
    """The units of all studies, each once."""
    return tuple(dict.fromkeys(unit for study in PAGES for unit in units_of(study)))


def figures(page: str) -> str:
    """SHA-256 of what a page's tables say; its sentences may be written otherwise."""
    rows = [line for line in page.splitlines() if line.startswith("|")]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def read(folder: Path) -> dict[str, Page]:
    """What the record in a folder says of each page; nothing where there is none.

    Raises ValueError for a file that is no record.
    """
    path = folder / RECORD
    if not path.exists():
        return {}
    try:
        return {study: Page(**said) for study, said in json.loads(path.read_text()).items()}
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{path} is no record of studies; write it again with `fp9 study --out {folder}`") from None


def keep(study: str, folder: Path) -> None:
    """Put into the record what the page of a study, as it was just written, is of. OSError where it cannot be written.

    Raises ValueError as `read`.
    """
    every = read(folder)
    circuits = {unit.name: circuit_of(unit) for unit in units_of(study)}
    every[study] = Page(figures((folder / f"{study}.md").read_text()), circuits)
    said: dict[str, Any] = {name: asdict(every[name]) for name in PAGES if name in every}
    write_whole(folder / RECORD, json.dumps(said, indent=1) + "\n")


def circuit_of(unit: Unit) -> str | None:
    """The digest of a unit's circuit, None for a spec that has no hardware."""
    try:
        return circuit_digest(unit)
    except ValueError:
        return None


def earlier(unit: Unit, folder: Path) -> list[str]:
    """The studies that have a unit whose page in a folder is not of its circuit. Raises ValueError as `read`."""
    pages, circuit = read(folder), circuit_of(unit)
    return [s for s in studies_of(unit) if s not in pages or pages[s].circuits.get(unit.name, "") != circuit]
