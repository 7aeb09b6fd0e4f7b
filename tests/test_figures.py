"""Figures that a page repeats are those of the records: the data sheets and the study of submodules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fp9.engines import ENGINES
from fp9.units import CATALOGUE
from fp9_rtl.synthesis.report import um2
from tests import instructions, witnesses

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "area-analysis.md"
_OF_A_SHEET = {"um2": "area um2", "ns": "delay ns"}
_UNIT = re.compile(r"`(\w+)`")
_AREA = re.compile(r"\b\d{5,6}\b")
_RATIO = re.compile(r"\| `(\w+)` / `(\w+)` \| ([\d.]+) \| ([\d.]+) \|")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _tables(text: str) -> list[tuple[list[str], list[list[str]]]]:
    """Headings and rows of every table of a page."""
    found: list[tuple[list[str], list[list[str]]]] = []
    lines = text.splitlines()
    for above, rule, at in zip(lines, lines[1:], range(2, len(lines) + 1), strict=False):
        if above.startswith("|") and re.fullmatch(r"\|[-:| ]+\|", rule):
            rows = []
            while at < len(lines) and lines[at].startswith("|"):
                rows.append(_cells(lines[at]))
                at += 1
            found.append((_cells(above), rows))
    return found


def _sheet(unit: str) -> dict[str, dict[str, str]]:
    """The area and delay of a data sheet in osu018, by mapping."""
    tables = _tables((DOCS / "units" / f"{unit}.md").read_text())
    rows = [dict(zip(head, row, strict=True)) for head, rows in tables if head[0] == "mapping" for row in rows]
    return {row["mapping"]: row for row in rows if row["library"] == "osu018"}


def _submodules(unit: str) -> dict[str, str]:
    """The row of the study in osu018, and the area of each submodule by its name."""
    head, rows = _tables((DOCS / "study" / "submodules.md").read_text())[0]
    row = next(dict(zip(head, row, strict=True)) for row in rows if row[:2] == [unit, "osu018"])
    return row | dict(part.rsplit(" ", 1) for part in row["submodules"].split(", "))


def figures(unit: str) -> dict[str, str]:
    """What the records say of a unit, by the headings of the page's tables."""
    a, b, parts = _sheet(unit)["A"], _sheet(unit)["B"], _submodules(unit)
    return {
        **parts,
        "sum": parts["all"],
        "place / align": parts.get("place") or parts.get("align", ""),
        "flat": a["area um2"],
        "stages": str(CATALOGUE[unit].stages),
        "A um2": a["area um2"],
        "flip-flops": a["flip-flops"] if CATALOGUE[unit].stages else "-",
        "B um2": b["area um2"],
        "flip-flops um2": str(int(a["area um2"]) - int(a["logic um2"])),
        "A ns": a["delay ns"],
        "B ns": b["delay ns"],
    }


ROWS = [
    (match[1], head, row)
    for head, rows in _tables(PAGE.read_text())
    for row in rows
    if head[0] == "unit" and (match := _UNIT.match(row[0])) and match[1] in CATALOGUE
]
RATIOS = [match.groups() for match in map(_RATIO.match, PAGE.read_text().splitlines()) if match]


@pytest.mark.parametrize(("unit", "head", "row"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_of_a_unit_is_that_of_its_records(unit: str, head: list[str], row: list[str]) -> None:
    known = figures(unit)
    assert dict(zip(head[1:], row[1:], strict=True)) == {name: known[name] for name in head[1:]}


@pytest.mark.parametrize(("unit", "other", "a", "b"), RATIOS)
def test_a_ratio_is_that_of_the_data_sheets(unit: str, other: str, a: str, b: str) -> None:
    for mapping, said in (("A", a), ("B", b)):
        areas = [int(_sheet(name)[mapping]["area um2"]) for name in (unit, other)]
        assert float(said) == pytest.approx(areas[0] / areas[1], abs=6e-4)


@pytest.mark.parametrize("line", [line for line in PAGE.read_text().splitlines() if not line.startswith("|")])
def test_an_area_in_a_sentence_on_units_is_in_their_records(line: str) -> None:
    """Those of the catalogue's units, and of the pages of studies that the sentence names."""
    units = [name for name in _UNIT.findall(line) if name in CATALOGUE]
    known = {text for unit in units for text in figures(unit).values()}
    for page in re.findall(r"\((study/\w+\.md)\)", line):
        known |= {cell for _, rows in _tables((DOCS / page).read_text()) for row in rows for cell in row}
    if units:
        assert set(_AREA.findall(line)) <= known


_FLAT = re.compile(r" ([\d,]+) @ ([\d.]+)")
README_LINES = [line for line in (DOCS.parent / "README.md").read_text().splitlines() if _FLAT.search(line)]


@pytest.mark.parametrize("line", README_LINES)
def test_areas_and_delays_of_the_readme_are_those_of_the_data_sheets(line: str) -> None:
    unit = next(word for word in line.split() if word in CATALOGUE)
    rows = _sheet(unit)
    assert [(area.replace(",", ""), ns) for area, ns in _FLAT.findall(line)] == [
        (rows[mapping]["area um2"], f"{float(rows[mapping]['delay ns']):.1f}") for mapping in "AB"
    ]


def _in_gates() -> list[tuple[str, dict[str, str]]]:
    """The units of docs/accumulators.md with the figures that stand there."""
    tables = _tables((DOCS / "accumulators.md").read_text())
    head, rows = next(table for table in tables if table[0][:2] == ["unit", "computes"])
    return [(row[0].strip("`"), dict(zip(head[2:], row[2:], strict=True))) for row in rows]


@pytest.mark.parametrize(("unit", "said"), _in_gates())
def test_an_area_of_an_instruction_is_that_of_its_data_sheet(unit: str, said: dict[str, str]) -> None:
    known = _sheet(unit)
    assert said == {f"{mapping} {of}": known[mapping][words] for mapping in "AB" for of, words in _OF_A_SHEET.items()}


@pytest.mark.parametrize("unit", CATALOGUE)
def test_a_row_of_the_study_of_units_is_that_of_the_record_of_its_area(unit: str) -> None:
    """The page and the record are measured apart."""
    tables = [table for table in _tables((DOCS / "study" / "units.md").read_text()) if table[0][0] == ""]
    said = {
        (head, cell)
        for heads, rows in tables
        for row in rows
        if row[0] == unit
        for head, cell in zip(heads, row, strict=True)
    }
    measured = json.loads((DOCS / "verification" / "areas" / f"{unit}.json").read_text())["measured"]
    known = {
        (f"{one['library']}: {estimate['mapping']} {of}", cell)
        for one in measured
        for estimate in one["estimates"]
        for of, cell in (("um2", um2(estimate["area_um2"])), ("ns", f"{estimate['delay_ns']:.2f}"))
    }
    assert len(known) == 8
    assert known <= said


def test_the_page_is_checked_at_all() -> None:
    assert len(ROWS) >= 14
    assert len(RATIOS) >= 3
    assert len(_in_gates()) >= 4


def test_every_preset_has_the_witnesses_of_the_record() -> None:
    page, found = DOCS / "accumulators.md", json.loads((DOCS / "accumulators" / "witnesses.json").read_text())
    assert set(found) == set(ENGINES)
    assert all(found.values())
    assert page.read_text() == witnesses.with_column(page.read_text(), found)


def test_every_instruction_set_has_the_rows_of_the_record() -> None:
    page = DOCS / "accumulators.md"
    found = json.loads((DOCS / "accumulators" / "instructions.json").read_text())
    assert [(row[0], row[1]) for row in found] == [(one.instructions, one.name) for one in instructions.OPERATIONS]
    assert page.read_text() == instructions.with_table(page.read_text(), found)
    assert "(5 rows)" in instructions.with_table(page.read_text(), [*found, ["x86", "new", "a text", 5, "(5 rows)"]])


def test_a_column_of_witnesses_adds_what_the_presets_of_a_row_have() -> None:
    page = "| preset | witness |\n|---|---|\n| `ada`, `mx` | ? |\n\n| `ada` | ? |\n"
    found = {
        "ada": [witnesses.Witness("rows", 1000), witnesses.Witness("a text")],
        "mx": [witnesses.Witness("rows", 5)],
    }
    assert witnesses.with_column(page, found).splitlines()[2:] == [
        "| `ada`, `mx` | rows (1,005 rows); a text |",
        "",
        "| `ada` | ? |",
    ]
