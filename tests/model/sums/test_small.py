"""Small matrix products and dot products: bits and flags of single sums, by kernels that large products share."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tests.support.rosters import PRESETS, of_each_kernel, thinned

import fp9
from fp9.engines import engine
from fp9.sums import small

PAIRS = (("e4m3", "e4m3"), ("e5m2", "hif8"), ("bf16", "e4m3"), ("e2m1", "int8"), ("bf16", "bf16"), ("fp16", "tf32"))
SHAPES = ((1, 1, 1), (16, 16, 16), (5, 70, 33))


def ordinary(fmt: str, shape: tuple[int, int], rng: np.random.Generator) -> Any:
    return fp9.encode(rng.standard_normal(shape, np.float32), fmt)


def any_code(fmt: str, shape: tuple[int, int], rng: np.random.Generator) -> Any:
    kind = fp9.format(fmt)
    return rng.integers(0, 1 << kind.bits, shape).astype(kind.dtype)


def of_one_size(fmt: str, shape: tuple[int, int], rng: np.random.Generator) -> Any:
    """Numbers of any size, and of nearly one: some are all that a plan supports, some none."""
    numbers = rng.standard_normal(shape, np.float32) * np.exp2(rng.integers(-45, 45))
    return fp9.encode(numbers, fmt, overflow="saturate")


def zeros(fmt: str, shape: tuple[int, int], _rng: np.random.Generator) -> Any:
    return np.zeros(shape, fp9.format(fmt).dtype)


PLANNED = [n for n in PRESETS if engine(n).step.group is None and not engine(n).result.rounding.needs_bits]
"""Presets that have plans. Groups of products have scales, and stochastic rounding has random bits."""

PRODUCTS = thinned(itertools.product(PLANNED, PAIRS, (ordinary, any_code, of_one_size, zeros)), every=5)


@pytest.mark.every(12)
@pytest.mark.parametrize(("name", "formats", "made"), PRODUCTS)
def test_small_products_are_sums_one_by_one(name: str, formats: tuple[str, str], made: Any) -> None:
    rng = np.random.default_rng(7)
    for rows, depth, columns in SHAPES:
        a, b = made(formats[0], (rows, depth), rng), made(formats[1], (depth, columns), rng)
        expected, raised = fp9.dot(a[:, None, :], b.T[None], *formats, name, flags=True)
        codes, flags = fp9.matmul(a, b, *formats, name, flags=True)
        plain = fp9.matmul(fp9.operand(a, formats[0]), fp9.operand(b.T.copy(), formats[1]).T, engine=name)
        for found, wanted in ((codes, expected), (flags, raised), (plain, expected)):
            assert np.array_equal(found, wanted) and found.dtype == wanted.dtype and found.shape == (rows, columns)


@pytest.mark.parametrize("fmt", ["e4m3", "bf16"])
@pytest.mark.parametrize("name", of_each_kernel(PLANNED))
def test_ordinary_small_products_need_no_general_path(name: str, fmt: str) -> None:
    """Without a plan, or with sums that the plan leaves to the general path, a call takes three times as long."""
    rng = np.random.default_rng(0)
    a, b = (ordinary(fmt, (16, 16), rng) for _ in range(2))
    found = small.small_product(a, b, fmt, fmt, name, flags=False)
    assert found is not None and np.array_equal(found, fp9.matmul(a, b, fmt, fmt, name, threads=1))


@pytest.mark.every(12)
@pytest.mark.parametrize(("name", "formats"), [*itertools.product(PLANNED, PAIRS)])
def test_small_dot_products_are_those_of_broadcast_operands(name: str, formats: tuple[str, str]) -> None:
    """Operands of different shapes take the general path."""
    rng = np.random.default_rng(9)
    for shape in ((1, 3), (5, 70)):
        a, b = (any_code(fmt, shape, rng) for fmt in formats)
        found = small.small_dot(a, b, *formats, name, flags=True)
        expected = fp9.dot(a[np.newaxis], np.stack([b, b]), *formats, name, flags=True)
        for own, wanted in zip(found, expected, strict=True):
            assert np.array_equal(own, wanted[1]) and own.dtype == wanted.dtype
        assert np.array_equal(fp9.dot(a[0], b[0], *formats, name), found[0][0])


@pytest.mark.parametrize("function", [fp9.matmul, fp9.dot])
def test_codes_that_a_narrow_format_does_not_have_are_refused(function: Any) -> None:
    a, b = np.full((2, 2), 3, np.uint8), np.full((2, 2), 16, np.uint8)
    with pytest.raises(ValueError, match=r"outside 0..2\*\*4-1 given"):
        function(a, b, "e2m1", "e2m1", "hopper")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kernel"), [("hopper", "aligned"), ("dlfloat", "rounded"), ("cdna3", "halves")])
def test_small_and_large_products_share_a_kernel(name: str, kernel: str) -> None:
    program = f"""import numpy as np, fp9
from fp9.kernels.tiles import aligned, halves, rounded_chains
kernels = {{"aligned": aligned.aligned, "rounded": rounded_chains.rounded, "halves": halves.halves}}
for size in (4, 64):
    codes = np.full((size, size), 0x39, np.uint8)
    fp9.matmul(codes, codes, "e4m3", "e4m3", {name!r})
print(len(kernels[{kernel!r}].overloads))"""  # a new process has not met the types of other tests
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
