"""Write reports about checks: JUnit XML for continuous integration, and an HTML page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from fp9.system.files import write_whole
from fp9_sim.regression.checks import Check, State, passed

_STYLE = (
    "body{font:15px sans-serif;margin:2em}td,th{padding:.3em 1em;text-align:left;border-bottom:1px solid #ccc;"
    "vertical-align:top}.failed,.not{background:#fdd}.passed{background:#dfd}"
)


def write_junit(name: str, checks: Sequence[Check], path: Path) -> None:
    """Write checks as JUnit XML, with one test case for each check."""
    count = {state: sum(check.state is state for check in checks) for state in State}
    suite = ElementTree.Element(
        "testsuite",
        name=name,
        tests=str(len(checks)),
        failures=str(count[State.FAILED]),
        errors=str(count[State.NOT_RUN]),
        skipped=str(count[State.NOT_ASKED]),
        time=f"{sum(check.seconds for check in checks):.3f}",
    )
    elements = {State.FAILED: "failure", State.NOT_RUN: "error", State.NOT_ASKED: "skipped"}
    for check in checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"{name}.{check.tool}", name=check.name, time=f"{check.seconds:.3f}"
        )
        if check.state in elements:
            result = ElementTree.SubElement(case, elements[check.state], message=_first(check))
            result.text = "\n".join(check.findings)
    write_whole(path, ElementTree.tostring(suite, encoding="unicode", xml_declaration=True))


def _first(check: Check) -> str:
    return check.findings[0] if check.findings else check.exercised


def write_html(name: str, checks: Sequence[Check], path: Path) -> None:
    """Write checks as an HTML page that needs no other file."""
    rows = "\n".join(_row(check) for check in checks)
    result = "passed" if passed(checks) else "failed"
    title = html.escape(f"{name}: {result}")
    write_whole(
        path,
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>\n'
        f"<h1>{title}</h1>\n<table><tr><th>check<th>tool<th>result<th>exercised<th>seconds<th>findings</tr>\n{rows}\n"
        "</table></html>\n",
    )


def _row(check: Check) -> str:
    cells = (
        check.name,
        check.tool,
        check.state,
        check.exercised,
        f"{check.seconds:.1f}",
        "\n".join(check.findings[:5]),
    )
    kind = check.state.split()[0].replace("-", "")
    return f'<tr class="{kind}">' + "".join(f"<td>{html.escape(cell)}" for cell in cells) + "</tr>"
