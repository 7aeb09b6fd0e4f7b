"""docs/reference/formats/blocks.md says what the records say."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fp9.blocks import BLOCK_FORMATS, RULES, quantise

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "formats" / "blocks.md").read_text()
ROWS = [
    [cell.strip(" `") for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")
]


def test_the_table_of_formats_is_that_of_the_records() -> None:
    rows = [row for row in ROWS if row[0] in BLOCK_FORMATS and len(row) == 6]
    assert rows == [
        [b.name, b.element.name, b.scale.name, str(b.length), f"{float(b.bits):g}", "`, `".join(b.rules)]
        for b in BLOCK_FORMATS.values()
    ]


def test_every_rule_stands_with_its_source() -> None:
    rows = {row[0]: row[-1] for row in ROWS if row[0] in RULES}
    assert rows == {rule.name: rule.source for rule in RULES.values()}


def test_the_scales_of_500_are_those_of_the_page() -> None:
    found = {
        rule: int(quantise(np.float32([500.0]), "mxfp8_e4m3", rule=rule).scales[0]) - 127
        for rule in RULES
        if rule in BLOCK_FORMATS["mxfp8_e4m3"].rules
    }
    assert found == {"floor": 0, "ceil": 1, "rceil": 1, "even": 1, "rne": 0}
