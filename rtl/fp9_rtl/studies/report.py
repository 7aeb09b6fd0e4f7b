"""Write the results of a study as a page with tables and a chart, and as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9.system.files import write_whole
from fp9_rtl.studies.chart import draw
from fp9_rtl.studies.study import Outcome, Row
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE
from fp9_rtl.synthesis.records import NOTE, Estimate, Ratio
from fp9_rtl.synthesis.report import changes, markdown_row, um2

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

NOISE = (
    "Another order of a circuit's cells changes its area by up to 1 % (area-optimised) or 5 % (delay-balanced), as "
    "standard deviations. For a ratio of medians, run `fp9 synth UNIT --compare UNIT --repeat 5`."
)

INDEX = "README.md"


def write(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Write the page NAME.md, the data NAME.json and NAME.csv, and the chart NAME.svg. Return their paths.

    The chart is omitted if the study has no measured variant. `outcomes` holds the results of one study, one item for
    each library.
    """
    base = folder / outcomes[0].study.name
    texts = {".md": page(outcomes), ".json": as_json(outcomes), ".csv": as_csv(outcomes)}
    for suffix, text in texts.items():
        write_whole(base.with_suffix(suffix), text)
    if outcomes[0].rows:
        write_whole(base.with_suffix(".svg"), draw(outcomes))
    return [base.with_suffix(suffix) for suffix in (*texts, *([".svg"] if outcomes[0].rows else []))]


def records(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return a list with one dictionary for each combination of library, variant and mapping.

    Each dictionary has the keys `COLUMNS`.
    """
    return [record for outcome in outcomes for row in outcome.rows for record in _row_records(outcome, row)]


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


def as_json(outcomes: Sequence[Outcome]) -> str:
    study, rows = outcomes[0].study, [row for outcome in outcomes for row in outcome.rows]
    record = {
        "study": study.name,
        "question": study.question,
        "note": NOTE,
        "variants": [{"label": v.label, "over": study.baseline(v), "spec": v.unit.describe()} for v in study.variants],
        "figures": records(outcomes),
        "skipped": [{"label": label, "reason": reason} for label, reason in outcomes[0].skipped],
        "measured": sorted({(r.synthesis.library_sha256, r.synthesis.yosys, r.synthesis.delay_by) for r in rows}),
        "verilog_sha256": {r.synthesis.top: r.synthesis.verilog_sha256 for r in rows},
    }
    return json.dumps(record, indent=1) + "\n"


def as_csv(outcomes: Sequence[Outcome]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records(outcomes))
    return text.getvalue()


def page(outcomes: Sequence[Outcome]) -> str:
    study, skipped = outcomes[0].study, outcomes[0].skipped
    parts = [f"# {study.title}", study.question]
    if outcomes[0].rows:
        parts += ["\n".join(_table(outcomes, _AREA)), "\n".join(_table(outcomes, _DELAY))]
        if len(outcomes) > 1:
            parts.append("\n".join(_changes(outcomes)))
        parts += [f"![{study.title}]({study.name}.svg)", _basis(outcomes)]
    if skipped:
        parts.append("No RTL exists for these variants:\n\n" + "\n".join(f"- {a}: {b}" for a, b in skipped))
    parts += ["## Specs", "\n".join(_specs(outcomes[0])), f"Measure again: `{_command(outcomes)}`"]
    return "\n\n".join(parts) + "\n"


def index(studies: Iterable[tuple[str, str, str]]) -> str:
    lines = [f"- [{title}]({name}.md): {question}" for name, title, question in studies]
    intro = (
        "Each page answers one question with tables and a chart. `fp9 study` measures them, and also writes JSON and "
        f"CSV. Areas and delays are estimates: {NOTE}. A ratio divides the figure of a variant by that of the variant "
        f"that it names, in the same library and synthesis script. {NOISE}"
    )
    return "\n\n".join(["# What things cost", intro, "\n".join(lines)]) + "\n"


@dataclass(frozen=True)
class _Kind:
    heads: tuple[str, ...]
    cells: Callable[[Estimate, Ratio | None], tuple[str, ...]]


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


_AREA = _Kind(
    ("um2", "NAND2", "ratio"),
    lambda e, ratio: (um2(e.area_um2), f"{e.nand2:.0f}", _ratio(ratio.area if ratio else None)),
)
_DELAY = _Kind(("ns", "ratio"), lambda e, ratio: (f"{e.delay_ns:.2f}", _ratio(ratio.delay if ratio else None)))


def _table(outcomes: Sequence[Outcome], kind: _Kind) -> Iterator[str]:
    heads = [f"{o.library}: {m} {what}" for o in outcomes for m in o.mappings for what in kind.heads]
    yield markdown_row(["", *heads, "FF", "ratio to"])
    yield markdown_row(["---", *["---:"] * (len(heads) + 1), "---"])
    for rows in zip(*(outcome.rows for outcome in outcomes), strict=True):
        cells: list[str] = []
        for row in rows:
            compared = {ratio.mapping: ratio for ratio in row.ratios}
            for e in row.synthesis.estimates:
                cells += kind.cells(e, compared.get(e.mapping))
        flip_flops = rows[0].synthesis.estimates[0].flip_flops
        yield markdown_row([rows[0].variant.label, *cells, str(flip_flops), rows[0].over])


def _changes(outcomes: Sequence[Outcome]) -> list[str]:
    compared = [
        (f"{rows[0].variant.label}, {of[0].mapping}", [ratio.area for ratio in of])
        for rows in zip(*(outcome.rows for outcome in outcomes), strict=True)
        for of in zip(*(row.ratios for row in rows), strict=True)
    ]
    return changes([outcome.library for outcome in outcomes], compared)


def _basis(outcomes: Sequence[Outcome]) -> str:
    first = outcomes[0].rows[0].synthesis
    libraries = " and ".join(outcome.library for outcome in outcomes)
    return (
        f"Figures are estimates: {NOTE}. They come from {libraries}, Yosys {first.yosys}, and delays from "
        f"{first.delay_by}. The unit um2 is for logic and flip-flops; FF is the number of flip-flops. {NOISE}"
    )


def _command(outcomes: Sequence[Outcome]) -> str:
    libraries = [outcome.library for outcome in outcomes if outcome.rows]
    named = [] if libraries in ([], [*SIDE_BY_SIDE]) else [f"--library {name}" for name in libraries]
    return " ".join(["fp9 study", outcomes[0].study.name, *named])


def _specs(outcome: Outcome) -> list[str]:
    policies = {row.variant.label: row.ratios[0] for row in outcome.rows if row.ratios}
    lines = []
    for variant in outcome.study.variants:
        ratio = policies.get(variant.label)
        policy = f"; ratio: result {ratio.result}, subnormals of the result {ratio.subnormals}" if ratio else ""
        lines.append(f"- {variant.label}: {'; '.join(variant.unit.describe())}{policy}")
    return lines
