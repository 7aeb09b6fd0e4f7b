"""Formats that a description names, of every width: decoding, casts, sums and accumulators against exact fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support import described
from tests.support.rosters import DETERMINISTIC, overflows

import fp9
from fp9.engines import Chunk, Engine, Result, Step, Window
from fp9.engines.operand_formats import OPERAND_EXPONENTS
from fp9.formats import FixedFormat, Kind, pow2
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags, Overflow, Rounding
from fp9.golden import evaluate
from fp9.oracle import casts, sums
from fp9.reference import reference_results
from fp9.units import Mac

if TYPE_CHECKING:
    from numpy.typing import NDArray

ANY_WIDTH = described.formats(range(2, 33))
OPERANDS = described.formats(range(3, 9)).filter(lambda fmt: fmt.lies_within(*OPERAND_EXPONENTS))
ACCUMULATORS = described.formats(range(4, 33), described.ACCUMULATOR_SPECIALS)
SEEDS = st.integers(0, 1 << 32)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(fmt=ANY_WIDTH, seed=SEEDS)
def test_codes_stand_for_the_numbers_of_the_record(fmt: FixedFormat, seed: int) -> None:
    codes = described.codes(fmt, 40, np.random.default_rng(seed))
    numbers = fp9.decode(codes, fmt).astype(np.float64)
    want = np.array([fmt.to_float(code) for code in codes.tolist()])
    assert np.array_equal(numbers, want, equal_nan=True)
    assert np.array_equal(np.signbit(numbers), np.signbit(want))


def test_a_tie_below_the_smallest_number_is_tiny_without_a_fraction() -> None:
    """0.1875 lies between 2^-3, which zero takes, and 2^-2, the smallest number: the even neighbour is zero's."""
    codes, flags = fp9.encode(0.1875, "1.3.0,b=3,specials=negative_zero,subnormals=false", "rne", flags=True)
    assert (int(codes), Flags(int(flags))) == (0, Flags.INEXACT | Flags.UNDERFLOW)
    x = casts.exact(Fraction(3, 16))
    target = fp9.format("1.3.0,b=3,specials=negative_zero,subnormals=false")
    assert casts.encode(x, target, CastPolicy(Rounding.RNE)) == (0, Flags.INEXACT | Flags.UNDERFLOW)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(source=ANY_WIDTH, target=ANY_WIDTH, data=st.data(), seed=SEEDS)
def test_casts_are_those_of_the_oracle(
    source: FixedFormat, target: FixedFormat, data: st.DataObject, seed: int
) -> None:
    rounding = data.draw(st.sampled_from([mode for mode in DETERMINISTIC if target.offers(mode)]))
    overflow = data.draw(st.sampled_from(overflows(target)))
    codes, scale = described.codes(source, 40, np.random.default_rng(seed)), data.draw(st.integers(-3, 3))
    policy = CastPolicy(rounding, overflow, nan_to_zero=not target.has_nan)
    arguments = source, target, rounding, overflow, policy.nan_to_zero
    results, flags, counts = fp9.cast(codes, *arguments, flags=True, counts=True, scale=scale)
    operands = [casts.decode(code, source) for code in codes.tolist()]
    scaled = [replace(x, magnitude=x.magnitude / pow2(scale)) if x.kind is Kind.FINITE else x for x in operands]
    want = [(code, int(raised)) for code, raised in (casts.encode(x, target, policy) for x in scaled)]
    assert list(zip(results.tolist(), flags.tolist(), strict=True)) == want
    finite = np.array([x.kind is Kind.FINITE for x in operands])
    sizes = np.abs([target.to_float(code) for code in results.tolist()])
    assert counts.overflowed == (finite & (flags & Flags.OVERFLOW != 0)).sum()
    assert counts.underflowed == (finite & (sizes < target.smallest_normal)).sum()
    assert counts.zeroed == (finite & (sizes == 0)).sum()


@st.composite
def engines(draw: st.DrawFn) -> Engine:
    """Engines whose accumulators are described."""
    result, products = draw(ACCUMULATORS), draw(st.sampled_from([1, 1, 2, 4]))
    chunk = draw(st.sampled_from([None, products, 3 * products]))
    promotion = draw(st.none() | ACCUMULATORS) if chunk else None
    subnormal = result.subnormals and (promotion is None or promotion.subnormals)
    flushes = subnormal and draw(st.booleans())
    return Engine(
        "described",
        Result(
            result,
            draw(st.sampled_from(DETERMINISTIC)),
            overflow=draw(st.sampled_from([Overflow.INF, *Overflow])),
            flush=flushes,
            flush_addend=flushes,
        ),
        Step(products),
        Window(draw(st.sampled_from([None, None, 3, 14, 29]))),
        Chunk(chunk, promotion=promotion),
    )


def problem(
    engine: Engine, operands: tuple[FixedFormat, FixedFormat], seed: int, depth: int
) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """Four rows of codes of each operand, and addends."""
    rng = np.random.default_rng(seed)
    factors = [described.codes(fmt, 4 * depth, rng).reshape(4, depth) for fmt in operands]
    addend = engine.addend_format
    assert isinstance(addend, FixedFormat)
    return factors, described.codes(addend, 4, rng)


def in_window(result: str, window: int | None = None, rounding: str = "rne") -> dict[str, Any]:
    """Of E4M3 operands by an engine whose result lies where float32 has other numbers, or none."""
    e4m3 = fp9.format("e4m3")
    engine = Engine("described", Result(fp9.format(result), rounding), window=Window(window))
    return {"engine": engine, "a": e4m3, "b": e4m3, "depth": 5, "seed": 10}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(engine=engines(), a=OPERANDS, b=OPERANDS, depth=st.sampled_from([1, 2, 5, 9]), seed=SEEDS)
@example(**in_window("1.8.15,b=-5,specials=ieee", 6, "rtz"))
@example(**in_window("1.8.9,b=127,specials=merged,subnormals=false", rounding="rna"))
@example(**in_window("1.8.23,b=100,specials=ieee"))
@example(**in_window("1.8.23,b=127,specials=merged"))
def test_sums_are_those_of_the_oracle(engine: Engine, a: FixedFormat, b: FixedFormat, depth: int, seed: int) -> None:
    """Of `dot`, and of `matmul` with flags and without, whose kernels differ."""
    (x, y), c = problem(engine, (a, b), seed, depth)
    want = []
    for row, column, start in zip(x.tolist(), y.tolist(), c.tolist(), strict=True):
        terms = sums.product_terms(engine, row, column, a, b)
        code, raised = sums.dot(engine, terms, sums.code_term(start, engine.addend_format))
        want.append((code, int(raised)))
    options: dict[str, Any] = {"format_c": engine.addend_format}
    codes, flags = fp9.dot(x, y, a, b, engine, c, flags=True, **options)
    assert list(zip(codes.tolist(), flags.tolist(), strict=True)) == want
    square = np.repeat(c[:, None], 4, axis=1)
    codes, flags = fp9.matmul(x, y.T, a, b, engine, square, flags=True, **options)
    assert list(zip(np.diag(codes).tolist(), np.diag(flags).tolist(), strict=True)) == want
    assert np.array_equal(fp9.matmul(x, y.T, a, b, engine, square, **options), codes)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(engine=engines(), a=OPERANDS, b=OPERANDS, seed=SEEDS)
def test_accumulators_are_those_of_exact_fractions(engine: Engine, a: FixedFormat, b: FixedFormat, seed: int) -> None:
    unit, rng, count = Mac("mac", (a,), (b,), engine, stages=2), np.random.default_rng(seed), 60
    inputs = {
        port.name: described.codes(port.formats[0], count, rng)
        if port.formats and isinstance(port.formats[0], FixedFormat)
        else rng.integers(0, 1 << port.width, count).astype(np.uint64)
        for port in unit.inputs
    }
    golden = evaluate(unit, inputs)
    columns = zip(*(column.tolist() for column in inputs.values()), strict=True)
    again = reference_results(unit, [dict(zip(inputs, row, strict=True)) for row in columns])
    want = [(row["result"], row["flags"]) for row in again]
    assert list(zip(golden["result"].tolist(), golden["flags"].tolist(), strict=True)) == want
