"""Operands made once and batches of matrices: bit for bit the products of codes, one by one."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
from tests.support.rosters import FACTORS, PRESETS, of_each_kernel, thinned

import fp9
from fp9.engines import ENGINES, Scaling
from fp9.kernels.tiles.aligned import aligned

VARIANTS = ("dlfloat(zero_bypass=true)", "fma_fp16(rounding=rup)", "exact(result=e4m3)", "deepseek(chunk=32,G=8)")
FORMATS = [fmt.name for fmt in FACTORS]


def codes(fmt: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Any codes, infinities and NaN among them, most near 1."""
    near = np.asarray(fp9.encode(np.abs(rng.standard_normal(shape)), fmt))
    return np.where(rng.random(shape) < 0.02, rng.integers(0, 1 << fp9.format(fmt).bits, shape), near)


# --- operands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", of_each_kernel([*PRESETS, *VARIANTS]))
@pytest.mark.parametrize("format_a", ["e4m3", "hif8", "hfp8_152"])
def test_an_operand_gives_the_bits_of_its_codes_on_both_sides(engine: str, format_a: str) -> None:
    rng = np.random.default_rng(0)
    a, b = codes(format_a, (5, 40), rng), codes("e5m2", (40, 7), rng)
    x, y = fp9.operand(a, format_a), fp9.operand(b, "e5m2")
    for _ in range(2):  # made, and read again
        assert np.array_equal(fp9.matmul(x, y, engine=engine), fp9.matmul(a, b, format_a, "e5m2", engine))
        assert np.array_equal(fp9.matmul(x, x.T, engine=engine), fp9.matmul(a, a.T, format_a, format_a, engine))
        assert np.array_equal(fp9.matmul(y.T, x.T, engine=engine), fp9.matmul(b.T, a.T, "e5m2", format_a, engine))
    ours = fp9.matmul(x, y, engine=engine, flags=True, scale_a=3, scale_b=-2)
    plain = fp9.matmul(a, b, format_a, "e5m2", engine, flags=True, scale_a=3, scale_b=-2)
    assert all(np.array_equal(*pair) for pair in zip(ours, plain, strict=True))
    rows = fp9.operand(b.T[:5], "e5m2")
    assert np.array_equal(fp9.dot(x, rows, engine=engine), fp9.dot(a, b.T[:5], format_a, "e5m2", engine))


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_format_makes_operands(fmt: str) -> None:
    rng = np.random.default_rng(1)
    a = codes(fmt, (3, 9), rng)
    x = fp9.operand(a, fmt)
    for engine in ("fma_fp32", "hopper"):
        assert np.array_equal(fp9.matmul(x, x.T, engine=engine), fp9.matmul(a, a.T, fmt, fmt, engine))
        assert np.array_equal(fp9.matmul(x, a.T, format_b=fmt, engine=engine), fp9.matmul(x, x.T, engine=engine))


def test_an_operand_is_a_value_of_its_own() -> None:
    a = np.array([[0x38, 0x40], [0x44, 0x48]], dtype=np.uint8)
    x = fp9.operand(a, "e4m3")
    before = fp9.matmul(x, x.T)
    a[:] = 0
    assert np.array_equal(fp9.matmul(x, x.T), before)
    assert (x.shape, x.T.shape, x.ndim, x.format.name) == ((2, 2), (2, 2), 2, "e4m3")
    assert x.T.codes.tolist() == [[0x38, 0x44], [0x40, 0x48]]
    with pytest.raises(ValueError, match="read-only"):
        x.codes[0, 0] = 1
    for other in (copy.deepcopy(x.T), pickle.loads(pickle.dumps(x.T))):
        assert np.array_equal(fp9.matmul(x, other), before)


def operand_errors() -> Iterator[tuple[Any, type[Exception], str]]:
    x = fp9.operand([[1, 2]], "e4m3")
    yield lambda: fp9.operand([[1, 2]], "fp32"), ValueError, "at most 19 bits"
    yield lambda: fp9.operand([[300]], "e4m3"), ValueError, "outside"
    yield lambda: fp9.operand([[1.0]], "e4m3"), TypeError, "unsigned integers"
    yield lambda: fp9.matmul(x, x.T, "e5m2"), ValueError, "format_a e5m2 given with a, an operand of e4m3; leave it out"
    yield lambda: fp9.matmul(x, [[1], [2]]), TypeError, "plain codes given without their format; give format_b"
    yield lambda: fp9.operand([1, 2], "e4m3").T, ValueError, "give a matrix"
    yield lambda: fp9.operand([[[1, 2]]], "e4m3").T, ValueError, "take mT"
    yield lambda: fp9.matmul(x, x), ValueError, r"give \(M, K\) and \(K, N\)"


@pytest.mark.parametrize(("call", "error", "words"), list(operand_errors()))
def test_what_is_no_operand_is_explained(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


# --- batches ----------------------------------------------------------------------------------------------------------

SHAPES = [
    ((3, 4, 20), (20, 5)),
    ((2, 3, 4, 20), (1, 1, 20, 5)),
    ((4, 20), (3, 20, 5)),
    ((2, 1, 4, 20), (3, 20, 5)),
    ((2, 3, 4, 20), (2, 3, 20, 5)),
    ((1, 4, 20), (1, 20, 5)),
    ((0, 4, 20), (20, 5)),
    ((2, 4, 0), (2, 0, 5)),
]


def one_by_one(a: Any, b: Any, engine: str, c: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Codes and flags of each product of a batch by a call of its own; scales (..., M or N[, blocks])."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*lead, a.shape[-2], b.shape[-1])
    found, flags = np.zeros(shape, np.uint32), np.zeros(shape, np.uint8)
    each = {name: np.broadcast_to(value, (*lead, *value.shape[-inner:])) for name, (value, inner) in options.items()}
    block = 8 if any(inner == 2 for _, inner in options.values()) else None
    for i in np.ndindex(lead):
        x, y = (np.broadcast_to(z, (*lead, *z.shape[-2:]))[i] for z in (a, b))
        start = np.broadcast_to(c, shape)[i]
        scales = {name: value[i] for name, value in each.items()}
        found[i], flags[i] = fp9.matmul(x, y, "e4m3", "e5m2", engine, start, flags=True, block=block, **scales)
    return found, flags


OF_BATCHES = ["fma_fp32", "dlfloat", "hopper", "exact", "deepseek", "cdna3"]


@pytest.mark.every(4)
@pytest.mark.parametrize(("shapes", "engine"), thinned(itertools.product(SHAPES, OF_BATCHES), every=4))
def test_leading_axes_broadcast_as_numpy_has_them(shapes: tuple[tuple[int, ...], ...], engine: str) -> None:
    rng = np.random.default_rng(2)
    a, b = codes("e4m3", shapes[0], rng), codes("e5m2", shapes[1], rng)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = np.matmul(np.zeros(shapes[0]), np.zeros(shapes[1])).shape
    for c_shape in (shape, shape[-2:], (1, *shape[-2:]) if lead else shape):
        c = np.asarray(fp9.encode(rng.standard_normal(c_shape), ENGINES[engine].addend_format))
        want, flags = one_by_one(a, b, engine, c)
        ours = fp9.matmul(a, b, "e4m3", "e5m2", engine, c)
        assert ours.shape == shape
        assert np.array_equal(ours, want)
        assert np.array_equal(fp9.matmul(fp9.operand(a, "e4m3"), fp9.operand(b, "e5m2"), engine=engine, c=c), want)
        both = fp9.matmul(a, b, "e4m3", "e5m2", engine, c, flags=True)
        assert np.array_equal(both[0], want) and np.array_equal(both[1], flags)


def test_kernels_are_compiled_once_for_addends_that_broadcast_and_others() -> None:
    """To Numba arrays of another layout are another type, for which a kernel is compiled for seconds."""
    rng = np.random.default_rng(3)
    c = np.asarray(fp9.encode(rng.standard_normal((4, 5)), "fp32"))
    fp9.matmul(codes("e4m3", (4, 20), rng), codes("e5m2", (3, 20, 5), rng), "e4m3", "e5m2", "deepseek", c, flags=True)
    met = [kind for types in aligned.signatures for kind in types if isinstance(kind, numba.types.Array)]
    assert {array.layout for array in met} == {"C"}


@pytest.mark.parametrize("engine", ["fma_fp32", "dlfloat", "hopper", "exact"])
@pytest.mark.parametrize("shapes", SHAPES[:6], ids=str)
def test_scales_of_a_batch_broadcast_to_it(shapes: tuple[tuple[int, ...], ...], engine: str) -> None:
    rng = np.random.default_rng(3)
    a, b = codes("e4m3", shapes[0], rng), codes("e5m2", shapes[1], rng)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    for own in (lead, lead[-1:], ()):
        scale_a, scale_b = rng.integers(-9, 9, (*own, 4)), rng.integers(-9, 9, (*own, 5))
        ours = fp9.matmul(a, b, "e4m3", "e5m2", engine, scale_a=scale_a, scale_b=scale_b)
        assert np.array_equal(ours, one_by_one(a, b, engine, 0, scale_a=(scale_a, 1), scale_b=(scale_b, 1))[0])
        if ENGINES[engine].step.scaling is Scaling.PRODUCTS:
            scale_a, scale_b = rng.integers(-9, 9, (*own, 4, 3)), rng.integers(-9, 9, (*own, 3, 5))
            ours = fp9.matmul(a, b, "e4m3", "e5m2", engine, scale_a=scale_a, scale_b=scale_b, block=8)
            assert np.array_equal(ours, one_by_one(a, b, engine, 0, scale_a=(scale_a, 2), scale_b=(scale_b, 2))[0])


def test_random_bits_of_a_batch_are_those_of_its_products() -> None:
    rng = np.random.default_rng(4)
    engine = "fma_fp16(rounding=sr)"
    a, b = codes("e4m3", (3, 4, 6), rng), codes("e5m2", (3, 6, 5), rng)
    bits = rng.integers(0, 1 << 16, (3, 4, 5, 6))
    ours = fp9.matmul(a, b, "e4m3", "e5m2", engine, random_bits=bits)
    for i in range(3):
        assert np.array_equal(ours[i], fp9.matmul(a[i], b[i], "e4m3", "e5m2", engine, random_bits=bits[i]))


def test_threads_and_progress_of_batches() -> None:
    rng = np.random.default_rng(5)
    for shape in ((40, 64, 64), (3, 128, 128)):
        x = fp9.operand(codes("e4m3", shape, rng), "e4m3")
        seen: list[float] = []
        one = fp9.matmul(x, x.mT, engine="fma_fp16", threads=1, progress=seen.append)
        assert np.array_equal(one, fp9.matmul(x, x.mT, engine="fma_fp16", threads=2))
        assert seen == sorted(seen) and seen[-1] == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"a": np.zeros((2, 4, 8), int)}, "leading axes before them that broadcast"),
        ({"scale_a": [[1, 1]]}, r"shape \(4,\) with leading axes that broadcast to \(3,\)"),
        ({"scale_a": np.ones((2, 4), int)}, r"broadcast to \(3,\)"),
        ({"scale_b": np.ones((5, 1), int), "block": 8}, r"shape \(1, 5\)"),
        ({"c": np.zeros((2, 4, 5), int)}, r"shape \(3, 4, 5\)"),
        ({"c": np.zeros(5, int)}, r"shape \(3, 4, 5\)"),
    ],
)
def test_axes_that_do_not_fit_are_explained(options: dict[str, Any], words: str) -> None:
    arguments = {"a": np.zeros((3, 4, 8), int), "b": np.zeros((3, 8, 5), int), "format_a": "e4m3", "format_b": "e4m3"}
    with pytest.raises(ValueError, match=words):
        fp9.matmul(**{**arguments, **options})
