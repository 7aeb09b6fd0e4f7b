"""Sums of products by NumPy operations have the bits of the general kernel, and load no kernel."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import FACTORS, PRESETS, of_each_kernel
from tests.units.spread import draw

import fp9
from fp9.engines import Engine, Scaling
from fp9.formats import Format, Rounding
from fp9.sums import in_numpy
from fp9.sums.operands import operand
from fp9.system import warming
from fp9.units import Dot
from fp9.units.toml import build

UNUSUAL = (
    *("hopper(truncation=jam)", "hopper(truncation=floor,addend=outside)", "ada(addend=aligned,zero_exponent=-6)"),
    *("fma_fp16(rounding=rtz)", "fma_bf16(rounding=rna)", "fma_fp32(rounding=rto)", "fma_fp32(rounding=rup)"),
    *("hopper(result=fp16,rounding=rne)", "fmma(K=3)", "fma_fp32(chunk=4)"),
)
"""Accumulator models with fields that no preset has."""

DEPTH = 75


def _supports(engine: Engine, a: Format, b: Format) -> bool:
    spans = (operand(np.zeros(1, dtype=fmt.dtype), fmt).span for fmt in (a, b))
    return in_numpy.supports(engine, *spans, DEPTH)


E4M3 = fp9.format("e4m3")
ENGINES = [name for name in (*PRESETS, *UNUSUAL) if _supports(fp9.engine(name), E4M3, E4M3)]


@contextlib.contextmanager
def cold() -> Iterator[list[object]]:
    """Context in which calls run as in a process without kernels. Yields the results of `in_numpy.sums`."""
    results: list[object] = []
    original = in_numpy.sums

    def recorded(*arguments: Any) -> object:
        results.append(original(*arguments))
        return results[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warming, "_KERNELS", "a module that is never loaded")
        patch.setattr(warming, "LIMIT", 1 << 60)
        patch.setattr(in_numpy, "sums", recorded)
        yield results


def _check(x: NDArray[Any], y: NDArray[Any], of_rows: dict[str, Any], of_pairs: dict[str, Any], **more: Any) -> None:
    """Compare all dot products of rows of x and rows of y. The scales of a product and of pairs differ in shape."""
    expected = fp9.dot(x[:, None], y[None], flags=True, **of_pairs, **more)
    with cold() as results:
        assert np.array_equal(fp9.matmul(x, y.T, **of_rows, **more), expected[0])
        found = (
            fp9.matmul(x, y.T, flags=True, **of_rows, **more),
            fp9.dot(x[:, None], y[None], flags=True, **of_pairs, **more),
        )
    assert all(np.array_equal(codes, expected[0]) and np.array_equal(flags, expected[1]) for codes, flags in found), (
        more
    )
    is_finite = np.isfinite(fp9.decode(expected[0], fp9.engine(more["engine"]).output)).all()
    assert [one is not None for one in results] == [is_finite] * 3


def _codes(fmt: Format, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    """Random finite codes: some rows have all magnitudes, some have few, and some have zeros of both signs."""
    every = np.arange(1 << fmt.bits).astype(fmt.dtype)
    every = every[np.isfinite(fp9.decode(every, fmt))]
    near_one = every[np.argsort(np.abs(np.abs(fp9.decode(every, fmt)) - 1), kind="stable")[:12]]
    small = every[np.argsort(np.abs(fp9.decode(every, fmt)), kind="stable")[:6]]
    rows = [rng.choice(some, shape[1]) for some in (every, near_one, small, small[:2])]
    return np.stack([rows[i % 4] for i in range(shape[0])])


def _addends(engine: Engine, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    numbers = rng.standard_normal(shape) * np.exp2(rng.integers(-24, 24, shape))
    numbers[:, 0], numbers[:, 1] = -0.0, 0.0
    return fp9.encode(numbers, engine.addend_format)


@pytest.mark.parametrize("name", of_each_kernel(ENGINES))
def test_numpy_sums_as_the_kernel(name: str) -> None:
    engine, rng = fp9.engine(name), np.random.default_rng(3)
    first = ENGINES.index(name) % 5  # other engines take other formats
    others = zip(FACTORS[first::5], FACTORS[first + 1 :: 5], strict=False)
    pairs = [(a, b) for a, b in others if _supports(engine, a, b)]
    for a, b in [(E4M3, E4M3), *pairs]:
        x, y, c = _codes(a, (8, DEPTH), rng), _codes(b, (9, DEPTH), rng), _addends(engine, (8, 9), rng)
        for more in ({}, {"c": c, "format_c": engine.addend_format}):
            _check(x, y, {}, {}, format_a=a, format_b=b, engine=engine, **more)


def _random_units(seed: int, count: int) -> Iterator[Dot]:
    rng = Random(seed)
    while count:
        try:
            unit = build(draw(rng, rng.choice(["dot", "fma"])))
        except ValueError:
            continue
        if isinstance(unit, Dot) and _supports(unit.engine, unit.a[0], unit.b[0]):
            count -= 1
            yield unit


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_numpy_sums_as_the_kernel_for_random_accumulators(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for unit in _random_units(seed, 40):
        a, b, engine = unit.a[0], unit.b[0], unit.engine
        x, y = _codes(a, (4, 17), rng), _codes(b, (4, 17), rng)
        formats = {"format_a": a, "format_b": b, "format_c": engine.addend_format}
        _check(x, y, {}, {}, engine=engine, c=_addends(engine, (4, 4), rng), **formats)


@pytest.mark.parametrize("name", [name for name in PRESETS if fp9.engine(name).step.scaling is Scaling.SUMS])
def test_numpy_scales_sums_as_the_kernel(name: str) -> None:
    rng = np.random.default_rng(4)
    x, y = (fp9.encode(rng.standard_normal((5, 64)), "e4m3") for _ in range(2))
    a, b = rng.integers(-3, 4, (2, 5))
    of_pairs = {"scale_a": a[:, None], "scale_b": b[None]}
    _check(x, y, {"scale_a": a, "scale_b": b}, of_pairs, format_a="e4m3", format_b="e4m3", engine=name)


def test_numpy_gives_a_chunk_that_rounds_to_zero_no_sign() -> None:
    """The chunk's window holds -2^-32, and FP16 rounds it to +0. Its sum with the addend -0 is +0."""
    x, y, c = (
        np.array([[code]], dtype=dtype) for code, dtype in ((0x81, np.uint8), (1, np.uint8), (0x8000, np.uint16))
    )
    formats = {"format_a": "e5m2", "format_b": "e5m2", "format_c": "fp16"}
    _check(x, y, {}, {}, engine="ampere_fp16(chunk=8)", c=c, **formats)


def test_kernels_compute_sums_that_are_not_finite() -> None:
    x = np.full((2, 4), 0x7E, dtype=np.uint8)
    with cold() as results:
        product = fp9.matmul(x, x.T, "e4m3", "e4m3", "fma_fp16")
    assert fp9.decode(product, "fp16").tolist() == [[np.inf] * 2] * 2
    assert results == [None]


def test_progress_is_reported_without_kernels() -> None:
    x, finished = np.full((2, 2), 0x38, np.uint8), list[float]()
    with cold():
        fp9.matmul(x, x, "e4m3", "e4m3", "hopper", progress=finished.append)
        fp9.dot(x, x, "e4m3", "e4m3", "hopper", progress=finished.append)
    assert finished == [1.0, 1.0]


def test_numpy_supports_presets_that_flush_nothing() -> None:
    others = {name for name in PRESETS if not _ends_otherwise(fp9.engine(name))}
    assert others == set(ENGINES) & set(PRESETS)


def _ends_otherwise(engine: Engine) -> bool:
    return engine.result.flush or engine.result.flush_addend or engine.result.rounding in (Rounding.SR, Rounding.RDN)


_FIRST_PRODUCTS = """
import sys, numpy as np, fp9
x = fp9.encode(np.linspace(-4, 4, 64).reshape(8, 8), "e4m3")
for name in ("fma_fp32", "dlfloat", "hopper", "cdna3"):
    fp9.matmul(x, x.T, "e4m3", "e4m3", name)
    fp9.dot(x, x, "e4m3", "e4m3", name, flags=True)
fp9.matmul(fp9.array(x, "e4m3"), fp9.operand(x, "e4m3"), flags=True)
assert "numba" not in sys.modules, "small products load Numba"
"""


def test_small_products_load_no_kernel() -> None:
    subprocess.run([sys.executable, "-c", _FIRST_PRODUCTS], check=True)
