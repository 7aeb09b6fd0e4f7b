"""What a cast did to an array: counts beside the fast kernels against flags and values, element by element."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.rosters import DETERMINISTIC, TARGETS, beyond, overflows, policy_of, thinned, together

import fp9
from fp9.formats.rounding import Flags, Overflow, Rounding

SIZE = 6000


def spread(dtype: str, seed: int = 0) -> np.ndarray:
    """Numbers of every magnitude of float32, zeros, infinities and NaN among them."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        numbers = rng.standard_normal(SIZE) * 2.0 ** rng.integers(-140, 128, SIZE)
        numbers[: SIZE // 2] = rng.standard_normal(SIZE // 2) * 2.0 ** rng.integers(-12, 12, SIZE // 2)
        numbers[:8] = 0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 2.0**-149, -(2.0**127)
        if dtype == "bfloat16":
            ml_dtypes = pytest.importorskip("ml_dtypes")
            return numbers.astype(ml_dtypes.bfloat16)
        return numbers.astype(dtype)


def one_by_one(x: np.ndarray, codes: np.ndarray, flags: np.ndarray, fmt: fp9.Format) -> fp9.Counts:
    """The counts by the words of `Counts`."""
    sizes, results = np.abs(x.astype(np.float64)), np.abs(fp9.decode(codes, fmt).astype(np.float64))
    number = np.isfinite(sizes) & (sizes > 0)
    known = sizes[~np.isnan(sizes)]
    return fp9.Counts(
        x.size,
        int((np.isfinite(sizes) & ((flags & Flags.OVERFLOW) != 0)).sum()),
        int((number & (results < fmt.smallest_normal)).sum()),
        int((number & (results == 0)).sum()),
        int(np.isinf(sizes).sum()),
        int(np.isnan(sizes).sum()),
        float(known.max()) if known.size else 0.0,
    )


def check(
    x: np.ndarray,
    fmt: fp9.Format,
    rounding: Rounding,
    overflow: Overflow,
    random: int | None = None,
    **options: object,
) -> None:
    """Counts of a cast of all of x, of its numbers alone, and of those that do not overflow; `random` bits for each."""
    policy = policy_of(fmt, rounding, overflow)
    arguments = fmt, rounding, overflow, policy.nan_to_zero
    small = x[np.abs(x.astype(np.float64)) < float(fmt.max) / 4]
    for source in (x, x[np.isfinite(x.astype(np.float64))], small):
        if random is not None:
            options["random_bits"] = np.full(source.shape, random)
        codes, flags = fp9.encode(source, *arguments, flags=True, **options)
        same, counts = fp9.encode(source, *arguments, counts=True, **options)
        assert np.array_equal(same, codes)
        assert counts == one_by_one(source, codes, flags, fmt)
        assert fp9.encode(source, *arguments, flags=True, counts=True, **options)[2] == counts


@pytest.mark.every(5)
@pytest.mark.parametrize("rounding", DETERMINISTIC)
@pytest.mark.parametrize("fmt", thinned(TARGETS, every=6), ids=str)
def test_every_format_and_rounding_is_counted_from_float32(fmt: fp9.Format, rounding: Rounding) -> None:
    for overflow in overflows(fmt):
        check(spread("float32"), fmt, rounding, overflow)


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("fmt", "rounding", "dtype"),
    together(TARGETS, DETERMINISTIC, ("float16", "bfloat16", "float64")),
    ids=str,
)
def test_every_source_is_counted_with_a_scale_too(fmt: fp9.Format, rounding: Rounding, dtype: str) -> None:
    for scale in (0, -7):
        check(spread(dtype, 1), fmt, rounding, beyond(fmt), scale=scale)


@pytest.mark.every(3)
@pytest.mark.parametrize("fmt", TARGETS, ids=str)
def test_stochastic_casts_are_counted(fmt: fp9.Format) -> None:
    for bits in (0, 1 << 15, (1 << 16) - 1):
        check(spread("float32", 2), fmt, Rounding.SR, beyond(fmt), random=bits)


@pytest.mark.parametrize("overflow", Overflow)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_hybrid_casts_are_counted(dtype: str, overflow: Overflow) -> None:
    check(spread(dtype, 3), fp9.format("hif8"), Rounding.HYBRID, overflow)


def test_integers_and_scales_of_each_element_are_counted() -> None:
    e4m3 = fp9.format("e4m3")
    check(np.arange(-3000, 3000), e4m3, Rounding.RNE, Overflow.SATURATE)
    x, scales = spread("float32", 4), np.arange(SIZE) % 31 - 15
    codes, flags = fp9.encode(x, e4m3, scale=scales, flags=True)
    assert fp9.encode(x, e4m3, scale=scales, counts=True)[1] == one_by_one(x, codes, flags, e4m3)


def test_the_edges_of_e4m3_are_those_of_its_table() -> None:
    """OCP OFP8 section 5: S.1111.110 is 448, S.0001.000 is 2^-6, S.0000.001 is 2^-9; 464 ties to 448, 2^-10 to zero."""
    edges = np.float32([464, np.nextafter(np.float32(464), np.float32(500)), 2**-6, 2**-6 - 2**-9, 2**-10, 3 * 2**-11])
    _, counts = fp9.encode(edges, "e4m3", "rne", counts=True)
    assert counts == fp9.Counts(6, overflowed=1, underflowed=3, zeroed=1, amax=float(edges[1]))


def test_rare_things_in_a_large_array_are_found_whatever_the_threads() -> None:
    x = np.random.default_rng(5).standard_normal(3 << 20, dtype=np.float32)
    x[[5, 70_000, 2_000_000]] = np.nan, np.inf, 1e30
    codes, flags = fp9.encode(x, "e4m3", flags=True)
    want = one_by_one(x, codes, flags, fp9.format("e4m3"))
    for threads in (1, 2):
        assert fp9.encode(x, "e4m3", counts=True, threads=threads)[1] == want
    random = np.random.default_rng(6).integers(0, 1 << 16, x.size, dtype=np.uint16)
    codes, flags = fp9.encode(x, "e4m3", "sr", random_bits=random, flags=True)
    stochastic = fp9.encode(x, "e4m3", "sr", random_bits=random, counts=True)[1]
    assert stochastic == one_by_one(x, codes, flags, fp9.format("e4m3"))


def test_counts_of_tensors_add_up() -> None:
    x = spread("float32", 7)
    parts = [fp9.encode(part, "e5m2", counts=True)[1] for part in (x[:100], x[100:], x[:0])]
    assert sum(parts, fp9.Counts()) == fp9.encode(x, "e5m2", counts=True)[1]
    assert parts[-1] == fp9.Counts()
