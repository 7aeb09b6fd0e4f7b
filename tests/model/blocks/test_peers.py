"""The table of other packages in docs/blocks.md is that of its record, in which nothing is unexplained."""

from __future__ import annotations

from pathlib import Path

from tests.model.blocks.peers import BLOCKS, RULES, inputs, read, table

from fp9.blocks import quantise
from fp9.scaling import block_format

DOCS = Path(__file__).parents[3] / "docs"
ROWS = read(DOCS / "peers" / "blocks.json")


def test_every_rule_of_every_format_is_compared_and_explained() -> None:
    assert [(row.rule, row.block) for row in ROWS] == [
        *((rule, block) for rule in RULES for block in BLOCKS),
        ("rne", "nvfp4"),
    ]
    assert all(row.blocks > 0x7F7F and row.unexplained == 0 for row in ROWS)
    assert all(row.scales == row.reasons.get("logarithm", 0) + row.reasons.get("least", 0) for row in ROWS)


def test_the_page_has_the_table_of_the_record() -> None:
    assert table(ROWS) in (DOCS / "blocks.md").read_text()


def test_blocks_that_are_compared_have_every_scale() -> None:
    """All but the few at the top, which no finite amax asks for."""
    for block in BLOCKS:
        scales = quantise(inputs(block), block, rule="floor").scales
        top = 254 - int(block_format(block).element.max).bit_length() + 1
        assert set(range(top + 1)) <= set(scales.reshape(-1).tolist())
