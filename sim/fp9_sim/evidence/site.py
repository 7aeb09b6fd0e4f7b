"""Build the documentation pages that show records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import fp9_rtl
from fp9.units import CATALOGUE, Unit
from fp9_compare.diagnosis import libraries_page
from fp9_ml.experiments import claims_page, histograms
from fp9_ml.experiments.catalogue import CLAIMS
from fp9_rtl.datasheets import conditions
from fp9_rtl.datasheets import sheet as sheets
from fp9_rtl.datasheets.timing import picture, timing_svg
from fp9_rtl.studies.medians import MEDIANS
from fp9_rtl.studies.report import INDEX
from fp9_sim import records
from fp9_sim.energy import pages as energy_pages
from fp9_sim.energy import study
from fp9_sim.evidence import areas, operations, studies
from fp9_sim.evidence.page import page
from fp9_sim.third_party import area as third_party_area
from fp9_sim.third_party import areas_chart, areas_page

UNITS, STUDY, COVERAGE, REPRODUCED = "units", "study", "verification/coverage.md", "recipes/reproduced.md"

FPUS = "verification/fpu.md"

COMPARED, LIBRARIES = "results/areas", "results/libraries.md"

THIRD_PARTY = "third-party"

_STALE = (
    "The area is that of an earlier circuit: `fp9 records update {unit} --claims area --hours 1` measures it again."
)
_MISSING = "No area is recorded: `fp9 records update {unit} --claims area --hours 1` measures it."


def names() -> set[str]:
    """Return the documentation paths of all pages and pictures that are built from records."""
    units = CATALOGUE.values()
    drawn = {f"{UNITS}/{name}" for unit in units if (name := picture(unit))}
    own = {f"{UNITS}/{name}" for name in (sheets.INDEX, conditions.CONDITIONS, *(f"{unit.name}.md" for unit in units))}
    studied = {f"{STUDY}/{name}.{suffix}" for name in (*studies.KINDS, "energy") for suffix in ("md", "svg")}
    studied -= {f"{STUDY}/{name}.svg" for name in MEDIANS}
    reproduced = {REPRODUCED, *(f"{records.RECIPES}/{name}.svg" for name in (*CLAIMS, *histograms.PICTURES))}
    pages = {
        f"{COMPARED}.md",
        f"{COMPARED}.svg",
        LIBRARIES,
        COVERAGE,
        FPUS,
        f"{STUDY}/{INDEX}",
        f"{STUDY}/energy-accuracy.svg",
    }
    return {*own, *drawn, *studied, *reproduced, *pages}


def built(folder: Path, units: Iterable[Unit] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each documentation page whose records are in `folder`.

    If `units` is given, only data sheets, verification results and the energy study are built.
    """
    every = list(CATALOGUE.values() if units is None else units)
    yield f"{UNITS}/{sheets.INDEX}", sheets.index(every)
    yield f"{UNITS}/{conditions.CONDITIONS}", conditions.page()
    for drawn, unit in {name: unit for unit in every if (name := picture(unit))}.items():
        yield f"{UNITS}/{drawn}", timing_svg(unit)
    for unit in every:
        yield f"{UNITS}/{unit.name}.md", sheet(unit, folder)
    yield COVERAGE, page(folder, every)
    if fpus := [fpu for unit in every if (fpu := operations.multi_fpu(unit))]:
        yield FPUS, operations.page(folder, fpus)
    training = folder / records.RECIPES / "training.json"
    record = study.read(folder, training if training.is_file() else None)
    # The energy study needs the energy record of each of its units.
    if study.UNITS.keys() <= record["units"].keys():
        yield f"{STUDY}/energy.md", energy_pages.page(record)
        yield from ((f"{STUDY}/{name}", text) for name, text in energy_pages.charts(record).items())
    if units is None:
        yield from ((f"{STUDY}/{name}", text) for name, text in studies.built(folder))
        yield from _reproduced(folder / records.RECIPES)
        yield from _compared(folder / THIRD_PARTY)


def _reproduced(folder: Path) -> Iterator[tuple[str, str]]:
    if folder.is_dir():
        from fp9_ml.experiments.charts import draw  # optional: matplotlib

        yield REPRODUCED, claims_page.page(folder)
        for name in CLAIMS:
            yield f"{records.RECIPES}/{name}.svg", draw(json.loads((folder / f"{name}.json").read_text()))
        for name, panels in json.loads((folder / histograms.RECORD).read_text()).items():
            yield f"{records.RECIPES}/{histograms.PICTURE.format(name)}.svg", histograms.draw(panels)


def _compared(folder: Path) -> Iterator[tuple[str, str]]:
    if (record := folder / third_party_area.RECORD).is_file():
        found = third_party_area.read(record)
        yield f"{COMPARED}.md", areas_page.page(found)
        yield f"{COMPARED}.svg", areas_chart.chart(found)
    if (checks := folder / libraries_page.RECORD).is_file():
        yield LIBRARIES, libraries_page.page(json.loads(checks.read_text()))


def sheet(unit: Unit, folder: Path) -> str:
    """Return the data sheet of a unit with the recorded area.

    A note in the data sheet says if the recorded area is missing or stale.
    """
    record = areas.read(unit, folder)
    if record is None:
        return f"{sheets.sheet(unit)}\n{sheets.AREA}\n\n{_MISSING.format(unit=unit.name)}\n"
    text = sheets.sheet(unit, areas.measured(record))
    stale = record["circuit_sha256"] != fp9_rtl.circuit_digest(unit)
    return f"{text}\n{_STALE.format(unit=unit.name)}\n" if stale else text
