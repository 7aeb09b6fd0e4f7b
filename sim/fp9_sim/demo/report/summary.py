"""Write the results of the demonstration as JSON and HTML, and read the JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from fp9.formats.rounding import Rounding
from fp9.studies.explorer import shared_text
from fp9.system.files import write_whole
from fp9_rtl.synthesis.records import NOTE
from fp9_sim.demo.report import charts, waves
from fp9_sim.demo.report.terminal import DIGITS, relative_error, scales

Summary = Mapping[str, Any]

# A file with another version is rejected.
SCHEMA = 5
NEEDED = (
    "accuracy",
    "layer",
    "units",
    "ratios",
    "recipes",
    "broken",
    "skipped",
    "tensors",
    "network",
    "seconds",
    "folder",
)


def write(summary: Summary, folder: Path) -> None:
    """Write the files `report.json` and `report.html` atomically: a write error leaves no incomplete file.

    Raises OSError if a file cannot be written.
    """
    page = html(summary)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "report.json", json.dumps({"schema": SCHEMA, **summary}, indent=1) + "\n")
    write_whole(folder / "report.html", page)


def read(path: Path) -> dict[str, Any]:
    """Return the content of a `report.json` file.

    Raises ValueError if the file is not a report of the current version.
    """
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError(f"{path} is not JSON; make a report with: fp9 demo") from None
    if not isinstance(summary, dict) or summary.get("schema") != SCHEMA or any(k not in summary for k in NEEDED):
        raise ValueError(f"{path} is not a report of this version; make a new one with: fp9 demo")
    return summary


def passed(summary: Summary) -> bool:
    """Return whether all simulations ran without mismatches and reported every deliberately wrong vector."""
    runs = [(unit, run) for unit in summary["units"] for run in unit["simulation"].values()]
    agreed = all(
        run["checked"] == unit["operations"] and not run["mismatches"] and not run["violations"] for unit, run in runs
    )
    return bool(runs) and agreed and all(b["caught"] for b in summary["broken"])


def html(summary: Summary) -> str:
    """Return an HTML page with the results of the demonstration as tables and SVG charts."""
    from jinja2 import Environment, StrictUndefined  # optional

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    folder = Path(summary["folder"])
    environment.filters.update(
        pair=charts.pair,
        scales=scales,
        error=relative_error,
        words=lambda rounding: Rounding(rounding).words,
        waves=waves.pictures,
        beside=lambda path: Path(path).relative_to(folder).as_posix(),
    )
    template = environment.from_string(
        files("fp9_sim.demo.report").joinpath("template.html").read_text(encoding="utf-8")
    )
    drawn = {draw.__name__: draw(summary) for draw in (charts.wrong_digits, charts.magnitudes, charts.errors)}
    if any(unit["synthesis"] for unit in summary["units"]):
        drawn["areas"] = charts.areas(summary)
    if summary["recipes"]:
        drawn["recipes"] = charts.recipes(summary)
    shared = {name: shared_text(file) for name, file in (("look", "look.css"), ("sorting", "tables.js"))}
    return template.render(**summary, passed=passed(summary), charts=drawn, note=NOTE, digits=DIGITS, **shared)
