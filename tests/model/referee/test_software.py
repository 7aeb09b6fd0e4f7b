"""Casts and decodings of other libraries: what is installed is explained whole, and planted faults are named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from fp9.formats import format
from fp9.referee import libraries
from fp9.referee.software import check_cast, check_decode
from fp9.rounding import Overflow

ROWS = [row for row in libraries.rows("ml_dtypes") if row.name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.direction}-{row.source}")
def test_what_ml_dtypes_does_is_explained(row: libraries.Row) -> None:
    answer = row.check()
    assert answer.explained.unexplained == 0, answer
    assert answer.checked >= 256


def test_a_cast_that_truncates_is_named() -> None:
    def truncated(numbers: Any) -> Any:
        """E5M2 as the upper byte of FP16, after a cast to FP16 that is exact for FP16 sources."""
        return (numbers.view(np.uint16) >> 8).astype(np.uint8)

    answer = check_cast(truncated, format("e5m2"), "fp16")
    assert answer.explained.unexplained < 0.01 * answer.checked
    assert "toward zero" in answer.says


def test_another_format_is_named() -> None:
    def theirs(numbers: Any) -> Any:
        return numbers.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)

    answer = check_cast(theirs, format("e4m3ieee"), "bf16", Overflow.INF)
    assert not answer.explained.unexplained
    assert "it takes e4m3 for e4m3ieee (its largest number is 448, not 240;" in answer.says


def test_rounded_numbers_are_taken_for_codes() -> None:
    answer = check_cast(lambda x: x.astype(ml_dtypes.float8_e4m3fn).astype(np.float32), format("e4m3"), "fp16")
    assert not answer.explained.unexplained


def test_a_decoding_with_a_wrong_bias_is_named() -> None:
    answer = check_decode(lambda codes: format("e4m3").table[codes] / 2, format("e4m3"))
    assert not answer.explained.unexplained
    assert "bias 8, not 7" in answer.says


@pytest.mark.parametrize(
    ("text", "says"),
    [("no_such_module:f", "it is not there"), ("math:no_such", "it is not there"), ("math:pi", "is no function")],
)
def test_a_function_that_is_not_there_is_one_sentence(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        libraries.function_of(text)


def test_the_page_leaves_nothing_unexplained() -> None:
    lines = (Path(__file__).parents[3] / "docs" / "libraries.md").read_text().splitlines()
    assert {line.split()[1] for line in lines if line.startswith("## ")} == set(libraries.LIBRARIES)
    rows = [line.split("|")[1:-1] for line in lines if re.match(r"\| \w", line) and "what it does" not in line]
    assert len(rows) > 20
    assert {row[6].strip() for row in rows} == {"0"}
