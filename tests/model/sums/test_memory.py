"""Memory of matrix products: large factors are decoded block by block, and the blocks give the same bits."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tests.support.rosters import PRESETS

import fp9
from fp9.engines import engine
from fp9.sums import matrices, operands, products

SHAPE = (70, 112, 150)
_FEW_ROWS = 16


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make blocks small, and return the list that receives the number of codes of each look-up."""
    met: list[int] = []
    look_up = operands._Tables.look_up

    def noted(self: Any, what: str, flat: Any, shape: Any) -> Any:
        met.append(flat.size)
        return look_up(self, what, flat, shape)

    monkeypatch.setattr(operands._Tables, "look_up", noted)
    monkeypatch.setattr(products, "LEFT_NUMBERS", 2 * _FEW_ROWS * SHAPE[1])
    monkeypatch.setattr(products, "RIGHT_NUMBERS", _FEW_ROWS * SHAPE[1])
    monkeypatch.setattr(matrices, "_FEWEST_ROWS", _FEW_ROWS)
    return met


@pytest.mark.every(4)
@pytest.mark.parametrize("flags", [False, True])
@pytest.mark.parametrize("name", PRESETS)
def test_blocks_give_the_results_of_the_whole_product(name: str, flags: bool, sizes: list[int]) -> None:
    (m, k, n), rng, fmt = SHAPE, np.random.default_rng(9), engine(name).addend_format
    a, b = rng.integers(0, 256, (m, k), np.uint8), rng.integers(0, 256, (k, n), np.uint8)
    a[1:-1] &= 0x6F  # finite numbers, except in the first and the last row
    c = fp9.encode(rng.standard_normal((m, n)), fmt)
    whole = fp9.matmul(fp9.operand(a, "e4m3"), fp9.operand(b, "e4m3"), engine=name, c=c, format_c=fmt, flags=flags)
    largest = max(sizes)
    sizes.clear()
    blocks = fp9.matmul(a, b, "e4m3", "e4m3", name, c, format_c=fmt, flags=flags)
    np.testing.assert_array_equal(blocks, whole)
    assert max(sizes) <= 2 * _FEW_ROWS * k < largest


@pytest.mark.parametrize("given", [{"random_bits": "all"}, {"scale_a": "rows", "scale_b": "columns"}])
def test_blocks_take_their_own_random_bits_and_scales(given: dict[str, Any], sizes: list[int]) -> None:
    (m, k, n), rng = SHAPE, np.random.default_rng(10)
    a, b = rng.integers(0, 100, (2, m, k), np.uint8), rng.integers(0, 100, (2, k, n), np.uint8)
    name = "dlfloat(rounding=sr)" if "random_bits" in given else "hopper"
    arrays = {
        "all": lambda: rng.integers(0, 1 << 16, (2, m, n, k)),
        "rows": lambda: rng.integers(-3, 4, (2, m)),
        "columns": lambda: rng.integers(-3, 4, (2, n)),
    }
    options = {option: arrays[what]() for option, what in given.items()}
    whole = fp9.matmul(fp9.operand(a, "e4m3"), fp9.operand(b, "e4m3"), engine=name, **options)
    np.testing.assert_array_equal(fp9.matmul(a, b, "e4m3", "e4m3", name, **options), whole)


def test_progress_of_blocks_rises_to_one(sizes: list[int]) -> None:
    (m, k, n), done = SHAPE, []
    codes = np.zeros((2, m, k), np.uint8), np.zeros((2, k, n), np.uint8)
    fp9.matmul(*codes, "e4m3", "e4m3", threads=1, progress=done.append)
    assert len(done) == 2 * -(-m // (2 * _FEW_ROWS)) * -(-n // _FEW_ROWS)
    assert done == sorted(done) and done[-1] == 1


_PEAK = """
import resource, sys
import numpy as np
import fp9
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
a, b = np.zeros((6144, 32), np.uint8), np.zeros((32, 6144), np.uint8)
fp9.matmul(a[:64], b[:, :64], "e4m3", "e4m3", threads=1)
before = peak()
result = fp9.matmul(a, b, "e4m3", "e4m3", threads=1)
print((peak() - before) / result.nbytes)
"""


def test_a_large_result_needs_little_more_memory_than_itself() -> None:
    made = subprocess.run([sys.executable, "-c", _PEAK], capture_output=True, text=True, check=True)
    assert float(made.stdout) < 1.3
