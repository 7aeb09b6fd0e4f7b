"""Casts and decodings of other libraries: what is installed is explained whole, and planted faults are named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.formats import format
from fp9.formats.rounding import Overflow
from fp9_compare.diagnosis import libraries
from fp9_compare.diagnosis.software import check_cast, check_decode

ROWS = [row for row in libraries.rows("ml_dtypes") if row.name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz")]


@pytest.mark.every(2)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.direction}-{row.source}")
def test_what_ml_dtypes_does_is_explained(row: libraries.Row) -> None:
    answer = row.check()
    assert answer.explained.unexplained == 0, answer
    assert answer.checked >= 256


@pytest.mark.slow
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


def test_a_function_of_the_working_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The help gives the same form: my_quantiser:to_e4m3, a module in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "third_party_quantiser.py").write_text(
        "import fp9\n\n\ndef to_e4m3(x):\n    return fp9.encode(x, 'e4m3', 'rtz')\n"
    )
    said = CliRunner().invoke(main, ["check-python", "third_party_quantiser:to_e4m3", "--format", "e4m3", "--json"])
    assert said.exit_code == 0, said.output
    assert "toward zero" in said.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("math:sqrt",), "the function raises TypeError for an array of float32"),
        (("math:no_such",), "math has no no_such"),
        (("math:pi",), "math:pi is float, which cannot be called"),
        (("no_such_module:f",), "importing no_such_module gives ModuleNotFoundError"),
        (("numpy:int64",), "codes beyond 8 bits given"),
        (("numpy:isnan",), "results of bool given"),
        (("numpy:isnan", "--decode"), "results of bool given; give numbers"),
        (("numpy:sum",), "give one for each"),
    ],
)
def test_a_wrong_function_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    said = CliRunner().invoke(main, ["check-python", *arguments, "--format", "e4m3"])
    assert said.exit_code == 2
    assert sentence in said.stderr
    assert said.stderr.count("\n") == 1
