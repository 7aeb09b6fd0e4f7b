"""Output of `fp9 identify --presets`: the accumulator preset that reproduces GPU results."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import doing, show, table

if TYPE_CHECKING:
    from rich.table import Table

    from fp9_compare.measured_rows import Step, Verdict


def show_presets(folder: Path, as_json: bool) -> None:
    """Show the accumulator presets that reproduce the measured sums in a folder.

    Each preset is tried twice: with the measured addends C, and with +0 as every addend.
    """
    from fp9_compare import measured_rows as study  # slow to load

    verdicts = []
    for each in study.read(folder):
        doing(f"{each.gpu}, {each.operands}, {each.output}: trying every preset")
        verdicts.append(study.explain(each))
    drawn = [None if v.differs is None else study.steps(v, v.differs) for v in verdicts]
    records = [_record(v, steps) for v, steps in zip(verdicts, drawn, strict=True)]
    columns = ["GPU", "format", "output", "preset", "not distinguished", "C", "rows", "agree"]
    rows = [
        [r["gpu"], r["operands"], r["output"], " = ".join(r["presets"]), _others(v), r["c"], r["rows"], r["agree"]]
        for v, r in zip(verdicts, records, strict=True)
    ]
    summary = table("Measured rows", columns, rows, numbers=["rows", "agree"])
    show(records, as_json, summary, *(_picture(v, s) for v, s in zip(verdicts, drawn, strict=True) if s is not None))
    if not all(v.explained for v in verdicts):
        click.get_current_context().exit(1)


def _record(verdict: Verdict, steps: list[Step] | None) -> dict[str, Any]:
    rows = verdict.rows
    record: dict[str, Any] = {
        "gpu": rows.gpu,
        "operands": rows.operands,
        "output": rows.output,
        "presets": list(verdict.presets),
        "not_distinguished": [list(rule) for rule in verdict.rules[1:]],
        "c": "added" if verdict.with_c else "+0",
        "rows": len(rows.d),
        "agree": verdict.agree,
    }
    if verdict.differs is not None and steps is not None:
        record["differs"] = {"row": verdict.differs, "chip": f"{rows.d[verdict.differs]:08x}"}
        record["differs"]["steps"] = [asdict(step) for step in steps]
    return record


def _others(verdict: Verdict) -> str:
    return ", ".join(" = ".join(rule) for rule in verdict.rules[1:]) or "-"


def _picture(verdict: Verdict, steps: list[Step]) -> Table:
    import numpy as np  # slow to load

    assert verdict.differs is not None
    rows = verdict.rows
    chip = rows.d[verdict.differs : verdict.differs + 1].view(np.float32)[0]
    title = (
        f"{rows.gpu}, {rows.operands}, {rows.output}: row {verdict.differs + 1} as {verdict.presets[0]} computes it; "
        f"the GPU gave {chip:.9g}"
    )
    return drawing(title, steps)


def drawing(title: str, steps: list[Step]) -> Table:
    """Return a table of the steps at which a sum is rounded, with one line per step."""
    columns = ["", "products", "addend", "exact sum", "window from", "to", "result"]
    lines = [
        [s.what, s.products, f"{s.addend:.9g}", f"{s.exact:.17g}", _power(s.top), _power(s.last), f"{s.result:.9g}"]
        for s in steps
    ]
    return table(title, columns, lines, numbers=columns[1:])


def _power(exponent: int | None) -> str:
    return "-" if exponent is None else f"2^{exponent}"
