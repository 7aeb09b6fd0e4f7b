"""Checks that must not pass: each test plants a fault that a check could overlook, and expects it to fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.vectors import export, generate, manifest_path
from fp9_sim import regress

UNIT = "fma_fp32"


# --- vector files --------------------------------------------------------------------------------------------------


def _of_another_unit(path: Path) -> None:
    """A unit with the same ports, but for the width of c, all of whose values fit."""
    export(generate("fma_dlfloat16", "smoke"), path.parent, path.stem)


def _truncated(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:18]))


def _cut_in_a_line(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def _with_another_digest(path: Path) -> None:
    text = manifest_path(path).read_text()
    before, _, after = text.partition('"sha256": "')
    manifest_path(path).write_text(f'{before}"sha256": "{"0" * 64}{after[64:]}')


def _of_another_spec(path: Path) -> None:
    text = manifest_path(path).read_text()
    manifest_path(path).write_text(text.replace("stages: 0", "stages: 3"))


def _with_another_count(path: Path) -> None:
    text = manifest_path(path).read_text()
    manifest_path(path).write_text(re.sub(r'"count": (\d)', r'"count": 1\1', text))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_of_another_unit, "holds vectors of fma_dlfloat16, not of fma_fp32"),
        (_truncated, "has changed since its export"),
        (_cut_in_a_line, "has changed since its export"),
        (_with_another_digest, "has changed since its export"),
        (_of_another_spec, "was made for another spec"),
        (_with_another_count, "its manifest says"),
    ],
)
def test_vectors_that_are_not_the_units_are_refused_before_anything_runs(
    damage: object, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(damage)
    path = export(generate(UNIT, "smoke"), tmp_path)
    damage(path)
    monkeypatch.setattr("fp9_sim.regression.run.build", lambda *_: pytest.fail("a simulator was built"))
    done = CliRunner().invoke(main, ["sim", UNIT, "--vectors", str(path)])
    assert done.exit_code == 2, done.output
    assert says in done.stderr
    with pytest.raises(ValueError, match=says):
        regress(generate(UNIT, "smoke").unit, path)
