"""What a study measured as a page with a table and a chart, and beside them as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fp9.system.files import write_whole
from fp9_rtl.studies.chart import draw
from fp9_rtl.studies.study import Outcome, Row
from fp9_rtl.synthesis.records import NOTE
from fp9_rtl.synthesis.report import markdown_row

COLUMNS = (
    "study",
    "label",
    "unit",
    "mapping",
    "area_um2",
    "nand2",
    "logic_um2",
    "flip_flops",
    "flip_flop_um2",
    "delay_ns",
    "over",
    "area_ratio",
    "delay_ratio",
    "result",
    "subnormals",
    "library",
    "note",
)
"""The columns of the CSV."""

INDEX = "README.md"
"""The page that lists the studies of a folder."""


def write(outcome: Outcome, folder: Path) -> list[Path]:
    """Write NAME.md, NAME.json, NAME.csv, and NAME.svg where there are figures, into a folder; their paths."""
    base = folder / outcome.study.name
    texts = {".md": page(outcome), ".json": as_json(outcome), ".csv": as_csv(outcome)}
    for suffix, text in texts.items():
        write_whole(base.with_suffix(suffix), text)
    if outcome.rows:
        write_whole(base.with_suffix(".svg"), draw(outcome))
    return [base.with_suffix(suffix) for suffix in (*texts, *([".svg"] if outcome.rows else []))]


def records(outcome: Outcome) -> list[dict[str, Any]]:
    """One plain record for each variant and mapping, under `COLUMNS`."""
    return [record for row in outcome.rows for record in _row_records(outcome, row)]


def _row_records(outcome: Outcome, row: Row) -> list[dict[str, Any]]:
    by_mapping = {ratio.mapping: ratio for ratio in row.ratios}
    found = []
    for e in row.synthesis.estimates:
        ratio = by_mapping.get(e.mapping)
        values = {
            "study": outcome.study.name,
            "label": row.variant.label,
            "unit": row.synthesis.top,
            "over": row.over,
            "area_ratio": round(ratio.area, 4) if ratio else None,
            "delay_ratio": round(ratio.delay, 4) if ratio else None,
            "result": ratio.result if ratio else None,
            "subnormals": ratio.subnormals if ratio else None,
            "library": row.synthesis.library,
            "note": NOTE,
        }
        found.append({name: values[name] if name in values else getattr(e, name) for name in COLUMNS})
    return found


def as_json(outcome: Outcome) -> str:
    """Everything known of a study: question, specs, figures, ratios, what was skipped, and how it was measured."""
    study = outcome.study
    record = {
        "study": study.name,
        "question": study.question,
        "note": NOTE,
        "variants": [{"label": v.label, "over": study.baseline(v), "spec": v.unit.describe()} for v in study.variants],
        "figures": records(outcome),
        "skipped": [{"label": label, "reason": reason} for label, reason in outcome.skipped],
        "measured": sorted(
            {(r.synthesis.library_sha256, r.synthesis.yosys, r.synthesis.delay_by) for r in outcome.rows}
        ),
        "verilog_sha256": {r.synthesis.top: r.synthesis.verilog_sha256 for r in outcome.rows},
    }
    return json.dumps(record, indent=1) + "\n"


def as_csv(outcome: Outcome) -> str:
    """One line for each variant and mapping, under `COLUMNS`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records(outcome))
    return text.getvalue()


def page(outcome: Outcome) -> str:
    """The study as a Markdown page: question, table, chart, specs, and the command that measures it again."""
    study = outcome.study
    parts = [f"# {study.title}", study.question]
    if outcome.rows:
        parts += ["\n".join(_table(outcome)), f"![{study.title}]({study.name}.svg)", _basis(outcome)]
    if outcome.skipped:
        parts.append(
            "Without figures, for want of hardware:\n\n" + "\n".join(f"- {a}: {b}" for a, b in outcome.skipped)
        )
    parts += ["## Specs", "\n".join(_specs(outcome)), f"Measure again: `fp9 study {study.name}`"]
    return "\n\n".join(parts) + "\n"


def index(studies: Iterable[tuple[str, str, str]]) -> str:
    """The page that lists studies, each given by name, title and question."""
    lines = [f"- [{title}]({name}.md): {question}" for name, title, question in studies]
    intro = (
        "Each page asks one question and answers it with a table and a chart; `fp9 study` writes the same figures "
        f"beside it as JSON and CSV. Areas and delays are estimates: {NOTE}. A ratio is the variant's figure over that "
        "of the variant it names, in the same mapping: A is the smallest netlist, B the balanced one. All pages are "
        "made by `fp9 study`."
    )
    return "\n\n".join(["# What things cost", intro, "\n".join(lines)]) + "\n"


def _table(outcome: Outcome) -> list[str]:
    mappings = [e.mapping for e in outcome.rows[0].synthesis.estimates]
    heads = ["", *(f"{m} {what}" for m in mappings for what in ("um2", "ratio", "ns", "ratio")), "FF", "ratio to"]
    lines = [markdown_row(heads), markdown_row(["---", *(["---:"] * (len(heads) - 2)), "---"])]
    for row in outcome.rows:
        compared = {ratio.mapping: ratio for ratio in row.ratios}
        cells = [row.variant.label]
        for e in row.synthesis.estimates:
            ratio = compared.get(e.mapping)
            area, delay = (f"{ratio.area:.3f}", f"{ratio.delay:.3f}") if ratio else ("", "")
            cells += [f"{e.area_um2:.0f}", area, f"{e.delay_ns:.2f}", delay]
        lines.append(markdown_row([*cells, str(row.synthesis.estimates[0].flip_flops), row.over]))
    return lines


def _basis(outcome: Outcome) -> str:
    """What the figures rest on, as a sentence."""
    first = outcome.rows[0].synthesis
    return (
        f"Estimates: {NOTE}. Library {first.library}, Yosys {first.yosys}, delay by {first.delay_by}; um2 is the area "
        "of logic and flip-flops, FF the number of flip-flops."
    )


def _specs(outcome: Outcome) -> list[str]:
    """Each variant's spec in a line; the ratios' result formats and subnormal policies are part of it."""
    policies = {row.variant.label: row.ratios[0] for row in outcome.rows if row.ratios}
    lines = []
    for variant in outcome.study.variants:
        ratio = policies.get(variant.label)
        policy = f"; ratio: result {ratio.result}, subnormals of the result {ratio.subnormals}" if ratio else ""
        lines.append(f"- {variant.label}: {'; '.join(variant.unit.describe())}{policy}")
    return lines
