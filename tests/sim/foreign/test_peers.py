"""What docs/peers.md says of other people's units is what its record says, and every key of a mapping is explained."""

from __future__ import annotations

import json
import re

import pytest
from tests import peers

from fp9_sim.foreign.mapping import FIELDS

PAGE = (peers.DOCS / "peers.md").read_text()
ROWS = peers.rows()
RECORD = json.loads(peers.RECORD.read_text())


def test_every_unit_of_the_page_is_in_the_record() -> None:
    assert len(ROWS) >= 8
    assert list(ROWS) == list(RECORD)


@pytest.mark.parametrize("name", ROWS)
def test_a_unit_differs_as_the_page_says(name: str) -> None:
    row, record = ROWS[name], RECORD[name]
    assert record["mapping"] == peers.digest(name)
    assert (record["revision"] or row["revision"]).startswith(row["revision"][:12])
    for count in ("operations", "differ", "unexplained"):
        assert record[count] == row[count]
    assert sorted(record["results"]) == row["asked"]
    for operation, given in re.findall(r"`([^`]+)` gives (0x\w+)", row["words"]):
        assert int(record["results"][operation], 16) == int(given, 16)


def test_every_key_of_a_mapping_is_in_the_guide() -> None:
    table = re.findall(r"^\| `\[?(\w+)\]?` \|", PAGE.partition("## Units checked")[0], re.MULTILINE)
    assert sorted(table) == sorted(FIELDS)
