"""Answer requests of the web page of `fp9 explore` for a unit's data sheet, area and delay."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from typing import Any

from markdown_it import MarkdownIt

from fp9.system.missing import MissingTool
from fp9.units import CATALOGUE, Unit, unit
from fp9.units.form import entries
from fp9.units.toml import load
from fp9_rtl.components import check_offered
from fp9_rtl.datasheets.sheet import body
from fp9_rtl.datasheets.timing import picture, timing_svg
from fp9_rtl.explorer.areas import Areas

Record = dict[str, Any]

APART = ";"

_AREAS = Areas()


def sheet(asked: Mapping[str, str]) -> Record:
    """Return the fields of a unit, its data sheet as HTML and its timing diagram as SVG.

    In a request, `unit` names a unit of the catalogue, and `set` holds its changed fields, separated by `;`. Raises
    ValueError for an unknown unit, an invalid setting, or a unit without hardware.
    """
    name, settings = _named(asked)
    spec = _spec(name, settings)
    usual = {entry.name: entry.text for entry in entries(unit(name))}
    return {
        "units": list(CATALOGUE),
        "unit": name,
        "kind": spec.kind,
        "fields": [dataclasses.asdict(entry) | {"usual": usual[entry.name]} for entry in entries(spec)],
        "command": shlex.join(["fp9", "rtl", name, *(word for text in settings for word in ("--set", text))]),
        "sheet": _html(body(spec)),
        "timing": _timing(spec),
    }


def area(asked: Mapping[str, str]) -> Record:
    """Return the area and delay of a unit, or the progress of their measurement."""
    # The explorer repeats the same request until the measurement is finished.
    return _AREAS.of(_spec(*_named(asked)))


def _named(asked: Mapping[str, str]) -> tuple[str, list[str]]:
    settings = [text.strip() for text in asked.get("set", "").split(APART)]
    return asked.get("unit", ""), [text for text in settings if text]


def _spec(name: str, settings: list[str]) -> Unit:
    # File names are not accepted.
    spec = load(unit(name).name, settings)
    check_offered(spec)
    return spec


def _html(text: str) -> str:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{int(token.tag[1:]) + 1}"
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def _timing(spec: Unit) -> str:
    try:
        return timing_svg(spec) if picture(spec) else ""
    except MissingTool:
        return ""
