"""Records of cost studies, `records/study/NAME.json`: the figures of every variant. Pages are built from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9_rtl.studies import run_studies
from fp9_rtl.studies import study as measuring
from fp9_rtl.studies.catalogue import STUDIES, study
from fp9_rtl.studies.chart import draw
from fp9_rtl.studies.report import INDEX, index, page
from fp9_rtl.studies.study import Outcome, Study
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE
from fp9_rtl.synthesis.records import Estimate, Synthesis
from fp9_rtl.synthesis.run import Progress
from fp9_sim import records
from fp9_sim.provenance import provenance

FIGURES = ("area_um2", "nand2", "flip_flops", "delay_ns")
"""Fields of an estimate that a study's record holds. Pages and charts use them."""


def measure(name: str, folder: Path, progress: Progress | None = None) -> Path:
    """Measure a study in all cell libraries, write its record, and return the record's path.

    Raises ValueError for an unknown study. Raises MissingTool if a library or Yosys is missing.
    """
    outcomes = [measuring.measure(study(name), library=cells, progress=progress) for cells in SIDE_BY_SIDE]
    return records.write(folder, records.STUDY, fields_of(outcomes))


def fields_of(outcomes: Sequence[Outcome]) -> records.Fields:
    """Convert the outcomes of a study to the fields of its record."""
    first = outcomes[0].rows[0].synthesis
    rows = [row for outcome in outcomes for row in outcome.rows]
    figures = [
        {"label": row.variant.label, "library": row.synthesis.library, "mapping": estimate.mapping}
        | {name: getattr(estimate, name) for name in FIGURES}
        for row in rows
        for estimate in row.synthesis.estimates
    ]
    seconds = round(sum(estimate.seconds for row in rows for estimate in row.synthesis.estimates), 1)
    return {
        "unit": outcomes[0].study.name,
        "spec": [],
        "circuit_sha256": None,
        "seconds": seconds,
        "provenance": provenance() | {"yosys": first.yosys, "delay": first.delay_by},
        "forms": {row.variant.label: fp9_rtl.circuit_digest(row.variant.unit) for row in outcomes[0].rows},
        "skipped": [list(skipped) for skipped in outcomes[0].skipped],
        "figures": figures,
    }


def outcomes_of(fields: records.Fields) -> list[Outcome]:
    """Convert a study's record to outcomes, one for each cell library. Variants without figures are left out."""
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
    """Return an estimate with the recorded figures. Figures that were not recorded are NaN."""
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


def stale(fields: records.Fields) -> list[str]:
    """Return the variants whose circuits differ from the recorded circuits."""
    forms = fields["forms"]
    variants = study(fields["unit"]).variants
    return [v.label for v in variants if forms.get(v.label) != fp9_rtl.circuit_digest(v.unit)]


def built(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the index, and the pages and charts of the recorded studies. Each is a pair of a name and a text.

    Raises the errors of `records.read`.
    """
    for name in STUDIES:
        fields = records.read(folder, records.STUDY, name)
        if fields is None:
            continue
        outcomes, changed = outcomes_of(fields), stale(fields)
        said = f"\nStale, as the circuit is another by now: {', '.join(changed)}.\n" if changed else ""
        yield f"{name}.md", page(outcomes) + said
        yield f"{name}.svg", draw(outcomes)
    yield INDEX, index(run_studies.listed())
