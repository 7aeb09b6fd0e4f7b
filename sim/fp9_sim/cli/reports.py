"""Command-line options and tables for RTL checks, proofs and their reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import Seconds, table
from fp9.cli.words import OUT_FILE

if TYPE_CHECKING:
    from rich.table import Table

    from fp9_sim.regression import Check

NOT_COMPARED = "not compared"

# The JSON output holds more.
SHOWN = 5

_OPTIONS = (
    click.option("--prove", "seconds", type=Seconds(), metavar="SECONDS", help="Also prove it, within this time."),
    click.option("--junit", type=OUT_FILE, help="File for a report in JUnit XML."),
    click.option("--html", type=OUT_FILE, help="File for a report in HTML."),
)


@dataclass(frozen=True)
class Reports:
    """Time limit of a proof in seconds, and the paths of the JUnit and HTML reports."""

    seconds: float | None
    junit: Path | None
    html: Path | None

    def write(self, name: str, checks: Sequence[Check]) -> None:
        from fp9_sim import regression  # slow to load

        if self.junit is not None:
            regression.write_junit(name, checks, self.junit)
        if self.html is not None:
            regression.write_html(name, checks, self.html)


def report_options(function: Callable[..., Any]) -> Callable[..., Any]:
    def command(*, seconds: float | None, junit: Path | None, html: Path | None, **others: Any) -> Any:
        return function(reports=Reports(seconds, junit, html), **others)

    command.__doc__, command.__name__ = function.__doc__, function.__name__
    command.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(_OPTIONS):
        option(command)
    return command


def checks_table(checks: Sequence[Check]) -> Table:
    tools = list(dict.fromkeys(check.tool for check in checks))
    rows = []
    for name in dict.fromkeys(check.name for check in checks):
        of = {check.tool: check for check in checks if check.name == name}
        said = list(dict.fromkeys(check.exercised for check in of.values()))
        rows.append([name, *(str(of[tool].state) if tool in of else "" for tool in tools), "; ".join(said)])
    return table("Checks", ["check", *tools, "exercised"], rows)
