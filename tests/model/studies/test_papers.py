"""What the papers print comes out of the code, to the printed digit."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.studies.papers import Figure, figures


@pytest.mark.parametrize("figure", figures(), ids=lambda f: f"{f.table} {f.row} {f.quantity}")
def test_a_figure_is_the_printed_one(figure: Figure) -> None:
    assert figure.computed == figure.printed


def test_the_command_prints_every_figure() -> None:
    result = CliRunner().invoke(main, ["formats", "--papers", "--json"])
    assert result.exit_code == 0 and all(record["agrees"] for record in json.loads(result.output))
    assert len(json.loads(result.output)) == len(figures())
