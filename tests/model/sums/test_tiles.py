"""Matrix products by register tiles: bits and flags of single sums, in tiles, beside them and at every edge."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from numba import types
from numpy.typing import NDArray
from tests.support.rosters import PRESETS, taken, thinned
from tests.units.spread import draw

import fp9
from fp9.blocks import quantise
from fp9.engines import Engine, Scaling, engine, format_of_scales
from fp9.formats import Format, format
from fp9.formats.blocks import block_format
from fp9.formats.rounding import Flags
from fp9.kernels.tiles import aligned, rounded_chains
from fp9.sums import fast, tiles
from fp9.sums.exact import Exact
from fp9.sums.general import GeneralSums
from fp9.sums.scales import Scales
from fp9.sums.sides import side
from fp9.sums.strategy import FastSums
from fp9.sums.tiled import Tiled
from fp9.units import Dot
from fp9.units.toml import build

PAIRS = (("e4m3", "e4m3"), ("e4m3", "e5m2"), ("hif8", "hif8"), ("hfp8_143", "hfp8_152"))
WIDE_PAIRS = (("fp16", "fp16"), ("bf16", "bf16"), ("dlfloat16", "dlfloat16"), ("e4m3", "fp16"))
ENGINES = [name for name in PRESETS if engine(name).step.group is None]
_FEW = 40  # products of one block, whose end nothing looks at
SHAPE = (25, 75, 140)
"""Rows and columns beyond whole tiles, and a depth of whole and broken steps."""


def ordinary(fmt: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    return np.asarray(fp9.encode(rng.standard_normal(shape, np.float32), fmt))


def any_number(fmt: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    codes = np.arange(1 << fp9.format(fmt).bits, dtype=fp9.format(fmt).dtype)
    return rng.choice(codes[np.isfinite(fp9.decode(codes, fmt))], shape)


def any_code(fmt: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    return rng.integers(0, 1 << fp9.format(fmt).bits, shape).astype(fp9.format(fmt).dtype)


def some_special(fmt: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    return np.where(rng.random(shape) < 0.001, any_code(fmt, shape, rng), ordinary(fmt, shape, rng))


def small_integers(fmt: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    """Of which sums are exact in all engines; some rows are zero."""
    numbers = rng.integers(-3, 4, shape)
    numbers[::4] = 0
    return np.asarray(fp9.encode(numbers.astype(np.float32), fmt))


def small(fmt: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    """Numbers of one size a row, down to those of which products are subnormal numbers of FP16, and far below."""
    numbers = rng.standard_normal(shape) * np.exp2(np.linspace(0, -14, shape[0]))[:, None]
    return np.asarray(fp9.encode(numbers.astype(np.float32), fmt))


def addends(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    """Numbers of one size a row, from one end of FP32 to the other; in some rows also -0, infinities and NaN."""
    numbers = rng.standard_normal(shape) * np.exp2(np.linspace(-140, 120, shape[0]))[:, None]
    for x in (-0.0, np.inf, np.nan):
        numbers[1::4][rng.random(numbers[1::4].shape) < 0.02] = x
    return np.asarray(fp9.encode(numbers.astype(np.float32), engine(name).addend_format))


def check(a: NDArray[Any], b: NDArray[Any], formats: tuple[str, str], name: str | Engine, **c: Any) -> None:
    """A product, without flags and with them, is the sums one by one."""
    expected, raised = fp9.dot(a[:, None, :], b.T[None], *formats, name, flags=True, **c)
    assert np.array_equal(fp9.matmul(a, b, *formats, name, **c), expected)
    codes, flags = fp9.matmul(a, b, *formats, name, flags=True, **c)
    assert np.array_equal(codes, expected)
    assert np.array_equal(flags, raised)


MADE = (ordinary, any_number, any_code, some_special, small_integers, small)
PRODUCTS = thinned(itertools.product(ENGINES, PAIRS, MADE), every=5)
"""Of 24 of each engine five are not long, and of the next engine others."""


@pytest.mark.every(48)
@pytest.mark.parametrize(("name", "formats", "made"), PRODUCTS)
def test_products_of_matrices_are_sums_one_by_one(name: str, formats: tuple[str, str], made: Any) -> None:
    rng = np.random.default_rng(5)
    a, b = made(formats[0], SHAPE[::2], rng), made(formats[1], SHAPE[:0:-1], rng)
    check(a, b, formats, name)
    a, b = a[:, :_FEW], b[:_FEW]
    c: Any = {"c": addends(name, SHAPE[:2], rng), "format_c": engine(name).addend_format}
    check(a, b, formats, name, **c)


WIDE_PRODUCTS = thinned(itertools.product(ENGINES, WIDE_PAIRS, (ordinary, any_code, some_special, small)), every=4)


@pytest.mark.every(48)
@pytest.mark.parametrize(("name", "formats", "made"), WIDE_PRODUCTS)
def test_products_of_16_bit_operands_are_sums_one_by_one(name: str, formats: tuple[str, str], made: Any) -> None:
    rng = np.random.default_rng(6)
    shape = (13, 70, 66)
    check(made(formats[0], shape[::2], rng), made(formats[1], shape[:0:-1], rng), formats, name)


@pytest.fixture
def strategies(monkeypatch: pytest.MonkeyPatch) -> list[FastSums | None]:
    """The strategies that the products of a test choose."""
    found: list[FastSums | None] = []
    fast_sums = tiles.fast_sums

    def seen(*given: Any) -> FastSums | None:
        found.append(fast_sums(*given))
        return found[-1]

    monkeypatch.setattr(tiles, "fast_sums", seen)
    return found


_BLOCK = 32
SCALED = [name for name in ENGINES if engine(name).step.scaling is Scaling.PRODUCTS]
SCALES = [
    (name, fmt.name)
    for name in SCALED
    for fmt in taken([format("e8m0"), format("ue4m3")], partial(format_of_scales, engine(name), block=None))
]
SCALED_PRODUCTS = thinned(itertools.product(SCALES, PAIRS, (ordinary, some_special)), every=5)


def scales(fmt: str, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    """Scales near 1, but those of the first row are low."""
    found = np.asarray(fp9.encode(np.exp2(rng.integers(-3, 4, shape)), fmt))
    found[0] = fp9.encode(2.0**-20, fmt)
    return found


@pytest.mark.every(48)
@pytest.mark.parametrize(("scaled", "formats", "made"), SCALED_PRODUCTS)
def test_scaled_products_are_sums_one_by_one(scaled: tuple[str, str], formats: tuple[str, str], made: Any) -> None:
    (name, fmt), rng = scaled, np.random.default_rng(8)
    (m, k, n), blocks = (13, 96, 66), 3
    a, b = made(formats[0], (m, k), rng), made(formats[1], (n, k), rng)
    scale_a, scale_b = scales(fmt, (m, blocks), rng), scales(fmt, (n, blocks), rng)
    a[0, :_BLOCK], scale_a[0, 0] = fp9.encode(0.0, formats[0]), 1
    if made is some_special:
        scale_a[1, 1], scale_b[1, 1] = rng.integers(0, 1 << format(fmt).bits, 2)
    given: dict[str, Any] = {"scale_format": fmt, "block": _BLOCK, "flags": True}
    pairs = [np.broadcast_to(x, (m, n, x.shape[-1])) for x in (a[:, None], b, scale_a[:, None], scale_b)]
    expected, raised = fp9.dot(*pairs[:2], *formats, name, scale_a=pairs[2], scale_b=pairs[3], **given)
    codes, flags = fp9.matmul(a, b.T, *formats, name, scale_a=scale_a, scale_b=scale_b.T, **given)
    plain = fp9.matmul(a, b.T, *formats, name, scale_a=scale_a, scale_b=scale_b.T, **given | {"flags": False})
    assert np.array_equal(codes, expected) and np.array_equal(flags, raised) and np.array_equal(plain, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCALED)
def test_ordinary_blocks_are_multiplied_by_tiles(name: str, strategies: list[FastSums | None]) -> None:
    """Blocks of zeros, which have the lowest scale, do not change that."""
    x = np.random.default_rng(0).standard_normal((64, 512))
    x[3], x[5, :40] = 0, 0
    blocks = fp9.quantise(x, "mxfp8_e4m3")
    fp9.matmul(blocks, blocks.T, engine=name)
    assert isinstance(strategies[0], (tiles.Tiled, fast.Chain, Exact))


ONE_PRODUCT = ("fma_fp16", "fma_bf16", "fma_fp32", "dlfloat", "chunked")
SEVERAL_PRODUCTS = ("fmma", "fmma(rounding=rne)", "arm_fdot2", "arm_fdot4", "mx", "exact")
"""Engines without a window, which add one product or several products a step. An exact sum is one step."""


@pytest.mark.every(12)
@pytest.mark.parametrize("exponent", [-12, -24, -27, -42, -110])
@pytest.mark.parametrize("fmt", ["fp16", "bf16", "dlfloat16"])
@pytest.mark.parametrize("name", [*ONE_PRODUCT, *SEVERAL_PRODUCTS])
def test_products_that_are_midpoints_meet_tiny_sums(name: str, fmt: str, exponent: int) -> None:
    """A tiny sum decides to which side a midpoint of the result format is rounded.

    (1 + 2^-4)^2, (1 + 2^-5)^2 and (1 + 2^-5)(1 + 2^-6) are midpoints of numbers of 8, 10 and 11 bits. Few numbers are
    large. In the second product, only one row and one column have small numbers.
    """
    rng = np.random.default_rng(-exponent)
    significands = np.array([1, 1 + 2**-4, 1 + 2**-5, 1 + 2**-6]) * np.array([[1], [-1]])
    large, small = (
        [rng.choice(significands.ravel(), shape) * 2.0**power for shape in ((24, 90), (90, 70))]
        for power in (0, exponent)
    )
    a, b = (np.where(rng.random(x.shape) < 0.1, x, y) for x, y in zip(large, small, strict=True))
    check(fp9.encode(a, fmt), fp9.encode(b, fmt), (fmt, fmt), name)
    large[0][4], large[1][:, 9] = a[4], b[:, 9]
    check(fp9.encode(large[0], fmt), fp9.encode(large[1], fmt), (fmt, fmt), name)


@pytest.mark.parametrize("fmt", ["e4m3", "bf16", "fp16"])
@pytest.mark.parametrize("result", ["binary8p1se", "hif8", "1.2.21,b=2,specials=negative_zero"])
def test_exact_sums_have_results_of_any_format(result: str, fmt: str) -> None:
    """The last format has a NaN in place of -0, and most sums overflow to it."""
    rng, exact = np.random.default_rng(4), engine("exact")
    chosen = replace(exact, result=replace(exact.result, format=fp9.format(result)))
    a, b = ordinary(fmt, SHAPE[::2], rng), ordinary(fmt, SHAPE[:0:-1], rng)
    a[:, :3] = fp9.encode(2.0 ** rng.integers(-12, 2, (len(a), 3)), fmt)  # float64 does not hold all sums of FP16
    check(a, b, (fmt, fmt), chosen)


@pytest.mark.parametrize("formats", [*WIDE_PAIRS[:3]], ids="x".join)
@pytest.mark.parametrize("name", ["hopper_16bit", "ampere", "fma_fp16", "dlfloat", "chunked", *SEVERAL_PRODUCTS])
def test_ordinary_16_bit_operands_stay_in_tiles(name: str, formats: tuple[str, str]) -> None:
    """The numbers of an operand count, and not all numbers of a format such as BF16."""
    rng = np.random.default_rng(0)
    sums = _fast_sums(name, formats, ordinary(formats[0], (64, 128), rng), ordinary(formats[1], (128, 64), rng))
    if isinstance(sums, Exact):  # float64 holds all sums of the BF16 numbers
        assert len(sums._pairs) == 1
        return
    assert isinstance(sums, Tiled)
    assert sums._special_rows is None or not sums._special_rows.any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kernel"),
    [("hopper", aligned.aligned), ("dlfloat", rounded_chains.rounded), ("fmma", rounded_chains.rounded_steps)],
)
def test_sides_with_and_without_specials_are_of_one_type(name: str, kernel: Any) -> None:
    """An array that may be written to is another type than one that is kept: kernels were compiled three times."""
    rng = np.random.default_rng(8)
    for made in (ordinary, some_special):
        a, b = made("e4m3", SHAPE[::2], rng), made("e4m3", SHAPE[:0:-1], rng)
        a[0, 0] = 0x38 if made is ordinary else 0x7F
        fp9.matmul(a, b, "e4m3", "e4m3", name)
    place = [*inspect.signature(kernel.py_func).parameters].index("sides")
    numbers = [side for signature in kernel.signatures for side in _floats(signature[place])]
    assert numbers and not [side for side in numbers if side.mutable]


def _floats(kind: Any) -> list[Any]:
    """The arrays of floating-point numbers in a tuple of Numba types."""
    if isinstance(kind, types.BaseTuple):
        return [array for part in kind for array in _floats(part)]
    return [kind] if isinstance(kind, types.Array) and isinstance(kind.dtype, types.Float) and kind.ndim == 2 else []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "exponent"), thinned(itertools.product(ENGINES, range(-24, 18, 3))))
def test_sums_near_every_edge_of_the_result(name: str, exponent: int) -> None:
    """Operands of every size: products at the lowest binades of narrow results, at their largest numbers, beyond."""
    rng = np.random.default_rng(exponent + 100)
    shape, half = (7, 70), exponent // 2
    a = fp9.encode(np.ldexp(rng.standard_normal(shape, np.float32), half), "e5m2")
    b = fp9.encode(np.ldexp(rng.standard_normal(shape[::-1], np.float32), exponent - half), "e5m2")
    check(a, b, ("e5m2", "e5m2"), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blackwell(window={})", "blackwell_fp16(window={})", "hopper_mma(window={})"])
@pytest.mark.parametrize("window", [18, 20, 23])
@pytest.mark.parametrize("formats", PAIRS, ids="x".join)
def test_windows_that_hold_all_bits_of_some_steps(formats: tuple[str, str], window: int, name: str) -> None:
    """Bits of ordinary products lie so far apart, in some more; addends reach above and below them by any number."""
    name = name.format(window)
    rng = np.random.default_rng(window)
    a, b = ordinary(formats[0], (64, 64), rng), ordinary(formats[1], (64, 80), rng)
    check(a, b, formats, name)
    a, b = a[:, :16], b[:16]
    powers, output = np.exp2(rng.integers(-30, 14, (64, 1))), engine(name).addend_format
    for numbers in (rng.standard_normal((64, 80)), rng.choice([-1.0, 1.0], (64, 80))):  # of many bits, and of one
        own: Any = {"c": fp9.encode((numbers * powers).astype(np.float32), output), "format_c": output}
        check(a, b, formats, name, **own)


@pytest.mark.slow
@pytest.mark.parametrize("fmt", ["e5m2", "hif8"])
@pytest.mark.parametrize("name", ENGINES)
def test_numbers_below_the_last_place_in_a_few_rows_and_columns(name: str, fmt: str) -> None:
    """These are rounded in the result's lowest binades, the others nowhere."""
    rng = np.random.default_rng(3)
    a, b = (rng.choice([-1.0, 1.0], shape) * rng.uniform(2.0**-8, 2.0**-6, shape) for shape in ((40, 70), (70, 150)))
    a, b = fp9.encode(a, fmt), fp9.encode(b, fmt)
    smallest = fp9.format(fmt).smallest_code
    a[5], a[30, 4], b[:, 7], b[60, 100] = smallest, smallest, smallest, smallest
    check(a, b, (fmt, fmt), name)


FLUSHING = ("dlfloat", "dlfloat(rounding=rne)", "fmma", "fmma(rounding=rne)", "chunked(chunk=16)")


@pytest.mark.slow
@pytest.mark.parametrize("exponent", range(-48, -24, 4))
@pytest.mark.parametrize("name", ["fma_fp16", "fma_fp16(chunk=16)", *FLUSHING])
def test_sums_that_leave_the_lowest_binades_and_return(name: str, exponent: int) -> None:
    """Products around the smallest numbers, in some blocks of K larger ones, and addends of every code about zero."""
    rng = np.random.default_rng(-exponent)
    rows, columns, depth = 22, 70, 150
    powers = np.full(depth, exponent / 2)
    powers[70:80] = -8
    a, b = (
        fp9.encode((rng.standard_normal(shape) * np.exp2(scale)).astype(np.float32), "hif8")
        for shape, scale in (((rows, depth), powers), ((depth, columns), powers[:, None]))
    )
    output = engine(name).addend_format
    codes = np.arange(1 << output.bits, dtype=output.dtype)
    lowest = codes[np.abs(fp9.decode(codes, output)) <= 2.0**-20]
    check(a, b, ("hif8", "hif8"), name)
    check(a, b, ("hif8", "hif8"), name, c=rng.choice(lowest, (rows, columns)), format_c=output)


def _fast_sums(name: str, formats: tuple[str, str], a: NDArray[Any], b: NDArray[Any]) -> FastSums | None:
    left, right = (
        side(fp9.operand(codes, fmt), lambda array: array, a.shape[1], engine(name), None, None)
        for codes, fmt in ((a, formats[0]), (b.T, formats[1]))
    )
    return tiles.fast_sums(engine(name), left, right, joins=engine(name).chunk.length is not None)


@pytest.mark.slow
@pytest.mark.parametrize("formats", PAIRS, ids="x".join)
@pytest.mark.parametrize("name", ["dlfloat", "chunked", "fma_fp16", "fma_bf16", "fmma"])
def test_ordinary_sums_among_the_lowest_binades_stay_in_tiles(name: str, formats: tuple[str, str]) -> None:
    """Bits below the lowest binade's last place send a block to another tile, and no row out of all tiles."""
    rng = np.random.default_rng(0)
    a, b = ordinary(formats[0], (64, 512), rng), ordinary(formats[1], (512, 64), rng)
    sums = _fast_sums(name, formats, a, b)
    assert sums is not None
    sums.run(slice(0, 64), np.zeros((64, 64)))
    assert isinstance(sums, tiles.Rounded)
    assert "_others" not in vars(sums)


@pytest.mark.slow
def test_one_inexact_step_is_found_wherever_it_is() -> None:
    """1 + 2^-24, and 2^-24 less again: the only steps that are inexact, of one sum."""
    rng = np.random.default_rng(9)
    for _ in range(60):
        rows, columns, depth = rng.integers(1, 24), rng.integers(1, 150), rng.integers(3, 140)
        numbers = np.zeros((rows, depth)), np.zeros((depth, columns))
        i, j = rng.integers(rows), rng.integers(columns)
        places = np.sort(rng.choice(depth, 3, replace=False))
        numbers[0][i, places], numbers[1][places, j] = (1.0, 2.0**-12, -(2.0**-12)), (1.0, 2.0**-12, 2.0**-12)
        a, b = (fp9.encode(x, "e5m2") for x in numbers)
        codes, flags = fp9.matmul(a, b, "e5m2", "e5m2", "fma_fp32", flags=True)
        assert np.argwhere(flags & Flags.INEXACT).tolist() == [[i, j]]
        assert fp9.decode(codes, "fp32")[i, j] == 1.0 - 2.0**-24


@pytest.mark.slow
@pytest.mark.parametrize("binades", range(12, 32, 2))
@pytest.mark.parametrize("fmt", ["e5m2", "hif8"])
def test_exact_sums_of_numbers_that_span_so_many_binades(fmt: str, binades: int) -> None:
    """Up to those whose sums float64 holds, and beyond; ends of either side occur once."""
    rng, codes = np.random.default_rng(binades), np.arange(128, dtype=np.uint8)
    sizes = fp9.decode(codes, fmt)
    some = codes[(sizes >= 2.0**-15) & (sizes < 2.0 ** (binades - 15))]
    a, b = (rng.choice(some, shape) | rng.choice([0, 128], shape) for shape in ((20, 150), (150, 70)))
    a[0, 0], b[0, 0] = some[0], some[-1]
    formats = (fmt, fmt)
    check(a, b, formats, "exact")


@pytest.mark.slow
def test_the_span_that_an_operand_meets() -> None:
    """Bits 2^-1 of 1.5 and 2^2 of 4; zeros, infinities and NaN have none."""
    infinity, nan = 0x7C, 0x7F
    codes = np.append(fp9.encode([1.5, -4.0, 0.0], "e5m2"), np.array([infinity, nan], np.uint8))
    assert fp9.operand(codes, "e5m2").met_span[1:3] == (-1, 2)
    nothing = fp9.operand(np.zeros(3, np.uint8), "e5m2")
    assert nothing.met_span.highest == nothing.met_span.lowest


def test_the_span_that_a_scaled_operand_meets() -> None:
    """Bits 2^-41 of 1.5 * 2^-40 and 2^2 of 4. The scale of the zeros does not count."""
    codes = fp9.operand(fp9.encode([[1.5, 1.0, -4.0, 1.0, 0.0, 0.0]], "e5m2"), "e5m2")
    scale = Scales(*2 * (np.exp2([[-40.0, 0.0, -127.0]]),), None)
    found = side(codes, lambda array: array, 6, engine("mx(products=2)"), scale, 2)
    assert found.span[1:3] == (-41, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_ordinary_numbers_meet_no_edge(name: str, strategies: list[FastSums | None]) -> None:
    """No row and no column of them is computed twice: the speed that docs/results/speed.md shows is theirs."""
    rng = np.random.default_rng(0)
    a, b = (ordinary("e4m3", shape, rng) for shape in ((64, 512), (512, 64)))
    fp9.matmul(a, b, "e4m3", "e4m3", name)
    assert not isinstance(strategies[0], tiles.Tiled) or "_others" not in vars(strategies[0])
    chosen = engine(name)
    if not chosen.step.exact and chosen.window.interleaved is None:
        assert isinstance(strategies[0], (tiles.Tiled, fast.Chain))


@pytest.mark.slow
@pytest.mark.parametrize("formats", PAIRS, ids="x".join)
@pytest.mark.parametrize("name", ["mx", "mx(products=4)"])
def test_steps_of_formats_with_many_binades_are_held_by_float64(name: str, formats: tuple[str, str]) -> None:
    """Of all that HiFloat8 has, sums would be held up to 512 alone; of those of ordinary numbers many more."""
    rng = np.random.default_rng(0)
    a, b = ordinary(formats[0], (64, 512), rng), ordinary(formats[1], (512, 64), rng)
    left, right = (
        side(fp9.operand(codes, fmt), lambda array: array, 512, engine(name), None, None)
        for codes, fmt in ((a, formats[0]), (b.T, formats[1]))
    )
    sums = tiles.fast_sums(engine(name), left, right, joins=False)
    sums.run(slice(0, 64), np.zeros((64, 64)))
    assert isinstance(sums, tiles.Rounded)
    assert "_others" not in vars(sums)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_flags_of_ordinary_numbers_are_those_of_tiles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly a sum is computed once more by single steps."""
    again: list[int] = []
    run = GeneralSums.run

    def seen(sums: GeneralSums, *arguments: Any) -> None:
        again.append(arguments[2].size)
        run(sums, *arguments)

    monkeypatch.setattr(GeneralSums, "run", seen)
    rng = np.random.default_rng(0)
    a, b = (ordinary("e4m3", shape, rng) for shape in ((64, 512), (512, 64)))
    fp9.matmul(a, b, "e4m3", "e4m3", name, flags=True)
    assert sum(again) <= 0.02 * 64 * 64


@pytest.mark.slow
@pytest.mark.parametrize("rounding", ["rne", "rtz"])
def test_short_windows_with_results_as_wide_as_float32(rounding: str) -> None:
    """Rounded to nearest inside float32, they have no bit below their last place."""
    rng = np.random.default_rng(6)
    a, b = ordinary("e4m3", SHAPE[::2], rng), ordinary("e4m3", SHAPE[:0:-1], rng)
    check(a, b, ("e4m3", "e4m3"), f"hopper(result=fp32,rounding={rounding})")


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [-3, -10, -60])
@pytest.mark.parametrize("window", [13, 25])
def test_zeros_that_are_aligned_above_an_addend(window: int, exponent: int) -> None:
    """Rows of zeros cut it off, however large the other products."""
    rng = np.random.default_rng(7)
    a, b = small_integers("e2m3", SHAPE[::2], rng), small_integers("e2m3", SHAPE[:0:-1], rng)
    name = f"hopper(result=bf16,rounding=rne,window={window},zero_exponent={exponent})"
    check(a, b, ("e2m3", "e2m3"), name, c=addends(name, SHAPE[:2], rng), format_c="bf16")


@pytest.mark.slow
@pytest.mark.parametrize("scaling", ["sums", "products"])
@pytest.mark.parametrize("name", ["fma_fp32", "fma_fp16", "dlfloat", "chunked", "fmma", "hopper", "exact"])
def test_flags_of_scaled_sums(name: str, scaling: str) -> None:
    """Some overflow by their scales alone, some underflow."""
    rng = np.random.default_rng(4)
    a, b = some_special("e4m3", SHAPE[::2], rng), some_special("e5m2", SHAPE[:0:-1], rng)
    scales = rng.integers(-40, 20, SHAPE[0])
    ways = {"engine": f"{name}(scaling={scaling})", "flags": True}
    expected, raised = fp9.dot(a[:, None, :], b.T[None], "e4m3", "e5m2", **ways, scale_a=scales[:, None])
    codes, flags = fp9.matmul(a, b, "e4m3", "e5m2", **ways, scale_a=scales)
    assert np.array_equal(codes, expected)
    assert np.array_equal(flags, raised)


@pytest.mark.slow
@pytest.mark.parametrize("flags", [False, True], ids=["", "flags"])
@pytest.mark.parametrize("name", ENGINES)
def test_threads_share_the_rows(name: str, flags: bool) -> None:
    rng = np.random.default_rng(1)
    a, b = (some_special("e4m3", shape, rng) for shape in ((300, 128), (128, 90)))
    options: Any = {"engine": name, "flags": flags}
    alone = fp9.matmul(a, b, "e4m3", "e4m3", threads=1, **options)
    assert np.array_equal(fp9.matmul(a, b, "e4m3", "e4m3", threads=3, **options), alone)


@pytest.mark.slow
def test_the_rounding_of_the_processor_is_as_it_was() -> None:
    """Sums toward zero set the mode of the thread, and leave to nearest."""
    rng = np.random.default_rng(2)
    a, b = (ordinary("e4m3", shape, rng) for shape in ((9, 64), (64, 70)))
    fp9.matmul(a, b, "e4m3", "e4m3", "hopper", threads=1)
    assert np.float32(1) + np.float32(1.5 * 2.0**-24) == np.nextafter(np.float32(1), np.float32(2))
    assert np.nextafter(1.0, 2.0) == 1.0 + 1.5 * 2.0**-53


@pytest.mark.slow
@pytest.mark.parametrize("depth", [150, 70, 16])
@pytest.mark.parametrize("block", ["nvfp4", "mxfp4"])
@pytest.mark.parametrize("name", ["blackwell_nvfp4", "blackwell_nvfp4(result=fp16,rounding=rne)"])
def test_blocks_with_scales_are_sums_one_by_one(name: str, block: str, depth: int) -> None:
    """Some have scales that are NaN, some groups whose numbers are all zero."""
    rng = np.random.default_rng(depth)
    given = []
    for rows in SHAPE[:2]:
        x = rng.standard_normal((rows, depth), np.float32) * np.exp2(rng.integers(-20, 20, (rows, 1)))
        x[rng.random(x.shape) < 0.3] = 0.0
        x[:2] = 0.0
        given.append(quantise(x.astype(np.float32), block))
    a, b = given
    record = block_format(block)
    if depth == 16:
        a.scales[-1, 0] = record.scale.nan_code(False)
    options: Any = {"scale_format": record.scale, "block": record.length}
    for c in (None, addends(name, SHAPE[:2], rng)):
        options |= {} if c is None else {"c": c, "format_c": engine(name).addend_format}
        ours = fp9.matmul(
            a.elements, b.elements.T, "e2m1", "e2m1", name, scale_a=a.scales, scale_b=b.scales.T, **options
        )
        single, _ = fp9.matmul(
            a.elements, b.elements.T, "e2m1", "e2m1", name, scale_a=a.scales, scale_b=b.scales.T, flags=True, **options
        )
        assert np.array_equal(ours, single)


@pytest.mark.parametrize("exponent", [90, 124, 512])
@pytest.mark.parametrize("name", ["hopper", "ada", "hopper_fp16", "blackwell"])
def test_a_zero_with_the_largest_exponents_hides_all_products(name: str, exponent: int) -> None:
    a = np.asarray(fp9.encode([[1.0, 2.0]], "e4m3"))
    engine = f"{name}(zero_exponent={exponent})"
    assert fp9.matmul(a, a.T, "e4m3", "e4m3", engine).tolist() == [[0]]
    assert fp9.dot(a[0], a[0], "e4m3", "e4m3", engine).tolist() == 0


def _any_finite(fmt: Format, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    """Rows of all finite magnitudes, of the largest, and of the smallest."""
    codes = np.arange(1 << fmt.bits).astype(fmt.dtype)
    finite = codes[np.isfinite(fp9.decode(codes, fmt))]
    order = finite[np.argsort(np.abs(fp9.decode(finite, fmt)), kind="stable")]
    return np.stack([rng.choice((finite, order[-10:], order[:6])[row % 3], shape[1]) for row in range(shape[0])])


def _agrees_with_the_general_kernel(a: Format, b: Format, engine: Engine, rng: np.random.Generator) -> None:
    depth = int(rng.choice([5, 17, 40]))
    x, y = _any_finite(a, (15, depth), rng), _any_finite(b, (15, depth), rng)
    codes, flags = fp9.dot(x[:, None], y[None], a, b, engine, flags=True)
    wide = np.tile(y, (8, 1)).T  # too many products for a small plan
    assert np.array_equal(fp9.matmul(x, wide, a, b, engine)[:, :15], codes), engine
    assert np.array_equal(fp9.matmul(x, wide, a, b, engine, flags=True)[1][:, :15], flags), engine
    assert np.array_equal(fp9.matmul(x[:4], y[:5].T, a, b, engine), codes[:4, :5]), engine


def test_a_window_narrower_than_the_addend_truncates_it_in_tiles() -> None:
    for seed in range(8):
        formats = fp9.format("e4m3ieee"), fp9.format("f134(bias=3)")
        _agrees_with_the_general_kernel(
            *formats, engine("cdna3(window=20,interleaved=26)"), np.random.default_rng(seed)
        )


def test_a_chunk_that_rounds_to_a_zero_without_sign_ends_a_negative_zero() -> None:
    """The first chunk, -2^-30, makes FP16's total -0. DLFloat16 has no -0 for the second chunk, -2^-33."""
    a, b = np.zeros((24, 16), np.uint8), np.zeros((16, 140), np.uint8)
    a[:, [0, 8]] = fp9.encode(-np.exp2([-14.0, -17.0]), "f152(bias=16)")
    b[[0, 8]] = fp9.encode(np.exp2([-16.0]), "e5m2")
    for columns in (3, 140):
        product = fp9.matmul(a, b[:, :columns], "f152(bias=16)", "e5m2", "dlfloat(products=8,chunk=8,promotion=fp16)")
        assert not product.any()


_ENDS = {
    "result": ["fp32", "fp16", "bf16", "e8m13", "dlfloat16", "1.5.6"],
    "rounding": ["rto", "rne", "rtz"],
    "window": [None, 1, 6, 11, 20, 25, 28],
    "truncation": ["jam", "zero"],
    "flush_result": [True, False],
    "flush_addend": [True, False],
    "invalid_nan": [None, 0x7E01],
}


def _with_unusual_ends(drawn: Random) -> Engine:
    products = drawn.choice([1, 2, 3, 4, 8, 32])
    own = {name: drawn.choice(values) for name, values in _ENDS.items()}
    return engine("fma_fp32").changed(products=products, chunk=drawn.choice([None, products, 2 * products]), **own)


def test_a_subnormal_sum_is_rounded_to_odd() -> None:
    """Of 2^-23 + 2^-26, in units of FP16's smallest number 2^-24: 2.25 becomes 3."""
    a, b = fp9.encode([[2.0**-9, 2.0**-12]], "e5m2"), fp9.encode([[2.0**-14], [2.0**-14]], "e5m2")
    chosen = engine("rvbna4").changed(result="fp16")
    assert fp9.matmul(a, b, "e5m2", "e5m2", chosen).item() == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_accumulators_that_flush_or_round_to_odd_have_the_sums_one_by_one(seed: int) -> None:
    """Addends have the magnitudes of products, of subnormal results, and magnitudes between these."""
    rng, drawn, count = np.random.default_rng(seed), Random(seed), 0
    while count < 25:
        try:
            chosen = _with_unusual_ends(drawn)
        except ValueError:  # an accumulator that is refused
            continue
        formats = drawn.choice([*PAIRS, *WIDE_PAIRS])
        a = drawn.choice(MADE)(formats[0], (9, 70), rng)
        b = drawn.choice(MADE)(formats[1], (70, 66), rng)
        check(a, b, formats, chosen)
        addend = chosen.addend_format
        c = rng.standard_normal((9, 66)) * 2.0 ** drawn.choice([0, addend.min_normal_exponent, -20, -105])
        check(a, b, formats, chosen, c=fp9.encode(c, addend), format_c=addend)
        count += 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_random_accumulators_have_the_bits_of_the_general_kernel(seed: int) -> None:
    rng, drawn, units = np.random.default_rng(seed), Random(seed), list[Dot]()
    while len(units) < 50:
        with contextlib.suppress(ValueError):  # of a unit that is refused
            unit = build(draw(drawn, drawn.choice(["dot", "fma"])))
            assert isinstance(unit, Dot)
            units += [unit] if unit.scale is None and unit.engine.step.group is None else []
    for unit in units:
        _agrees_with_the_general_kernel(unit.a[0], unit.b[0], unit.engine, rng)
