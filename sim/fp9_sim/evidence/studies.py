"""Run cost studies, and write and read their records `records/study/NAME.json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9.units import CATALOGUE, Unit
from fp9_rtl.studies import medians, run_studies, submodules
from fp9_rtl.studies import study as measuring
from fp9_rtl.studies.catalogue import STUDIES, study
from fp9_rtl.studies.chart import draw
from fp9_rtl.studies.medians import MEDIANS, MedianArea
from fp9_rtl.studies.report import INDEX, index, page
from fp9_rtl.studies.study import Outcome, Study
from fp9_rtl.synthesis.breakdown import Breakdown
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE
from fp9_rtl.synthesis.records import Estimate, RepeatedRatio, Synthesis
from fp9_rtl.synthesis.run import Progress
from fp9_sim import records
from fp9_sim.provenance import provenance

# Fields of an area estimate that the record of a study holds, for use in pages and charts.
FIGURES = ("area_um2", "nand2", "flip_flops", "delay_ns")


@dataclass(frozen=True)
class Kind:
    """Functions that run one kind of cost study and write its documentation.

    `units` returns a dictionary from labels to the units of a study. `measure` measures a study, and returns the record
    fields that only studies of the same kind have. `texts` returns a dictionary from file suffixes to the texts of a
    study's page and chart.
    """

    units: Callable[[str], Mapping[str, Unit]]
    measure: Callable[[str, Progress | None], records.Fields]
    texts: Callable[[records.Fields], dict[str, str]]


def measure(name: str, folder: Path, progress: Progress | None = None) -> Path:
    """Measure a cost study in all cell libraries, write its record, and return the path of the record.

    Raises ValueError for an unknown study, and MissingTool if Yosys or a library is missing.
    """
    run_studies.check([name])
    return records.write(folder, records.STUDY, fields_of(name, KINDS[name].measure(name, progress)))


def fields_of(name: str, found: records.Fields) -> records.Fields:
    skipped = [label for label, _ in found.get("skipped", [])]
    units = KINDS[name].units(name)
    return {
        "unit": name,
        "spec": [],
        "circuit_sha256": None,
        "seconds": None,
        "skipped": [],
        "forms": {label: fp9_rtl.circuit_digest(unit) for label, unit in units.items() if label not in skipped},
        **found,
        "provenance": provenance() | found.get("provenance", {}),
    }


def stale(fields: records.Fields) -> list[str]:
    """Return the labels of those variants of a study whose circuit has changed since the measurement."""
    forms, skipped = fields["forms"], {label for label, _ in fields["skipped"]}
    units = KINDS[fields["unit"]].units(fields["unit"])
    asked = {label: unit for label, unit in units.items() if label not in skipped}
    return [label for label, unit in asked.items() if forms.get(label) != fp9_rtl.circuit_digest(unit)]


def built(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of each page and chart of the recorded studies."""
    for name, kind in KINDS.items():
        fields = records.read(folder, records.STUDY, name)
        if fields is None:
            continue
        changed = stale(fields)
        said = f"\nStale, as the circuit is another by now: {', '.join(changed)}.\n" if changed else ""
        for suffix, text in kind.texts(fields).items():
            yield f"{name}{suffix}", text + said if suffix == ".md" else text
    yield INDEX, index(run_studies.listed())


def _labelled(name: str) -> dict[str, Unit]:
    return {variant.label: variant.unit for variant in study(name).variants}


def _outcomes(name: str, progress: Progress | None) -> records.Fields:
    return figures_of([measuring.measure(study(name), library=cells, progress=progress) for cells in SIDE_BY_SIDE])


def figures_of(outcomes: Sequence[Outcome]) -> records.Fields:
    first = outcomes[0].rows[0].synthesis
    rows = [row for outcome in outcomes for row in outcome.rows]
    figures = [
        {"label": row.variant.label, "library": row.synthesis.library, "mapping": estimate.mapping}
        | {name: getattr(estimate, name) for name in FIGURES}
        for row in rows
        for estimate in row.synthesis.estimates
    ]
    return {
        "seconds": round(sum(estimate.seconds for row in rows for estimate in row.synthesis.estimates), 1),
        "provenance": {"yosys": first.yosys, "delay": first.delay_by},
        "skipped": [list(skipped) for skipped in outcomes[0].skipped],
        "figures": figures,
    }


def outcomes_of(fields: records.Fields) -> list[Outcome]:
    asked = study(fields["unit"])
    libraries = dict.fromkeys(figure["library"] for figure in fields["figures"])
    return [_outcome(asked, library, fields) for library in libraries]


def _outcome(asked: Study, library: str, fields: records.Fields) -> Outcome:
    known = {v.label: _synthesis(v.label, v.unit.name, library, fields) for v in asked.variants}
    measured = {label: synthesis for label, synthesis in known.items() if synthesis.estimates}
    rows = tuple(measuring.row(asked, variant, measured) for variant in asked.variants if variant.label in measured)
    return Outcome(asked, rows, tuple((label, reason) for label, reason in fields["skipped"]))


def _synthesis(label: str, unit: str, library: str, fields: records.Fields) -> Synthesis:
    tools = fields["provenance"]
    estimates = tuple(
        _estimate(figure) for figure in fields["figures"] if (figure["label"], figure["library"]) == (label, library)
    )
    return Synthesis(unit, library, "", "", tools["yosys"], tools["delay"], "", estimates)


def _estimate(figure: dict[str, Any]) -> Estimate:
    unknown = float("nan")
    area = figure["area_um2"]
    return Estimate(
        figure["mapping"],
        area,
        unknown,
        unknown,
        figure["nand2"],
        0,
        figure["flip_flops"],
        unknown,
        figure["delay_ns"],
        "",
        (area,),
        unknown,
    )


def _charted(fields: records.Fields) -> dict[str, str]:
    outcomes = outcomes_of(fields)
    return {".md": page(outcomes), ".svg": draw(outcomes)}


def _medians(name: str, progress: Progress | None) -> records.Fields:
    areas, ratios = medians.measure(MEDIANS[name], progress=progress)
    return {"figures": [asdict(area) for area in areas], "ratios": [asdict(ratio) for ratio in ratios]}


def _median_page(fields: records.Fields) -> dict[str, str]:
    areas = [MedianArea(**figure) for figure in fields["figures"]]
    found = areas, [RepeatedRatio(**ratio) for ratio in fields["ratios"]]
    return {".md": medians.page(MEDIANS[fields["unit"]], found)}


def _breakdowns(_: str, progress: Progress | None) -> records.Fields:
    return {"figures": [asdict(found) for found in submodules.measure(progress=progress)]}


def _stacked(fields: records.Fields) -> dict[str, str]:
    figures = fields["figures"]
    found = [Breakdown(**f | {"submodules": tuple((name, area) for name, area in f["submodules"])}) for f in figures]
    return {".md": submodules.page(found), ".svg": submodules.draw(found)}


KINDS: dict[str, Kind] = {
    **dict.fromkeys(STUDIES, Kind(_labelled, _outcomes, _charted)),
    submodules.NAME: Kind(lambda _: CATALOGUE, _breakdowns, _stacked),
    **dict.fromkeys(MEDIANS, Kind(lambda name: MEDIANS[name].units, _medians, _median_page)),
}
