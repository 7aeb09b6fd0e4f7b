"""Tables of docs/accumulators.md are filled from what was compared, row by row."""

from __future__ import annotations

from tests import instructions, sources_of_truth


def test_a_table_of_instruction_sets_has_a_row_for_each_comparison() -> None:
    head = "| instruction set | operation | rows of | rows equal | left out |\n|---|---|---|---|---|\n"
    page = f"Before.\n\n{head}| x86 | old | a text | 1 | |\n\nAfter.\n"
    found = [["Arm", "FDOT", "pseudo-code", 1200, ""], ["x86", "new", "a text", 5, "(5 rows)"]]
    rows = "| Arm | FDOT | pseudo-code | 1,200 |  |\n| x86 | new | a text | 5 | (5 rows) |\n"
    assert instructions.with_table(page, found) == f"Before.\n\n{head}{rows}\nAfter.\n"


def test_a_column_of_sources_adds_what_the_presets_of_a_row_have() -> None:
    page = "| preset | source of truth |\n|---|---|\n| `ada`, `mx` | ? |\n\n| `ada` | ? |\n"
    found = {
        "ada": [sources_of_truth.Source("rows", 1000), sources_of_truth.Source("a text")],
        "mx": [sources_of_truth.Source("rows", 5)],
    }
    assert sources_of_truth.with_column(page, found).splitlines()[2:] == [
        "| `ada`, `mx` | rows (1,005 rows); a text |",
        "",
        "| `ada` | ? |",
    ]
