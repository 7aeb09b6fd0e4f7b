"""The sweep over all float32 patterns: what it compares, and that it notices a difference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.rosters import MONOTONE

from fp9.formats import Rounding
from fp9.formats.rounding import Overflow
from fp9.studies import exhaustive
from fp9.studies.exhaustive import Check, checks


def test_checks_cover_seven_formats_of_ml_dtypes_hif8_and_every_monotone_mode() -> None:
    names = [check.name for check in checks()]
    assert len(set(names)) == len(names)
    assert sum(check.beside == "ml_dtypes" for check in checks()) == 7
    assert {check.rounding for check in checks() if check.fmt == "hif8"} == {*MONOTONE, Rounding.HYBRID}


@pytest.mark.parametrize("check", [checks()[2], checks()[7], checks()[8], checks()[-1]], ids=lambda c: c.name)
def test_a_shard_around_one_is_equal(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustive, "SHARD_BITS", 22)
    assert exhaustive.compare(check, 0x3F800000 >> 22) == 1 << 22


def test_a_difference_is_named_by_its_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustive, "SHARD_BITS", 20)
    monkeypatch.setattr(exhaustive, "_answer", lambda check: lambda patterns: np.full(patterns.size, 0x38, np.uint8))
    with pytest.raises(ValueError, match="0x3f880001 gives 0x39 here and 0x38 there"):
        exhaustive.compare(Check("e4m3", Rounding.RNE, Overflow.INF, "thresholds"), 0x3F8)


def test_a_finished_sweep_counts_without_comparing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = checks()[0]
    monkeypatch.setattr(exhaustive, "checks", lambda: [check])
    every = ", ".join(str(shard) for shard in range(1 << (32 - exhaustive.SHARD_BITS)))
    (tmp_path / "done.json").write_text(f'{{"{check.name}": [{every}]}}')
    assert exhaustive.run(tmp_path, print, processes=1) == {check.name: 1 << 32}
