"""The page on third-party RTL explains every key of a mapping."""

from __future__ import annotations

import re
from pathlib import Path

from fp9_sim.third_party.mapping import FIELDS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "mapping.md").read_text()


def test_every_key_of_a_mapping_is_in_the_reference() -> None:
    table = re.findall(r"^\| `\[?(\w+)\]?` \|", PAGE, re.MULTILINE)
    assert sorted(table) == sorted(FIELDS)
