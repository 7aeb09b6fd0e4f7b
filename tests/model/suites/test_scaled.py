"""Corner suites of sums that scales multiply: each suite hits its cover points."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

import fp9
from fp9.engines import engine
from fp9.formats import Format, format
from fp9.formats.rounding import Flags
from fp9.golden import evaluate
from fp9.suites.columns import Inputs
from fp9.suites.corner import corner
from fp9.suites.sums.bit_far_below_result import bit_far_below_corner
from fp9.suites.sums.scaled import scaled_corner
from fp9.units import CATALOGUE, Dot, Mac, MacOp

SCALED = [unit for unit in CATALOGUE.values() if isinstance(unit, Dot) and unit.scale is not None]


def numbers(unit: Dot, columns: Inputs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The products of every operation (products, n) for a unit of one format, and what its scales multiply by (n,)."""

    def of(names: Iterable[str], fmt: Format | None) -> list[NDArray[np.float64]]:
        assert fmt is not None
        return [fp9.decode(columns[name].astype(np.uint8), fmt).astype(float) for name in names]

    a, b = (np.stack(of(unit.lane_names(side), unit.a[0])) for side in "ab")
    return a * b, np.prod([scale for side in "ab" for scale in of(unit.scale_names(side), unit.scale)], axis=0)


def parted(terms: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smallest product of every operation, and the sum of the others."""
    lane = np.argmin(np.abs(terms), axis=0)
    bit = np.take_along_axis(terms, lane[None], axis=0)[0]
    return bit, terms.sum(axis=0) - bit


@pytest.mark.parametrize(
    ("operand", "products", "scale"), [("e4m3", 4, "e8m0"), ("e5m2", 4, "e8m0"), ("e2m1", 16, "ue4m3")]
)
def test_a_bit_of_any_size_is_taken_from_a_sum_above_every_product(operand: str, products: int, scale: str) -> None:
    """And is all that is left where the addend takes the rest."""
    formats = (format(operand),)
    unit = Dot("scaled", formats, formats, engine(f"mx(G={products})"), scale=format(scale))
    columns = scaled_corner(unit, np.random.default_rng(0))
    terms, scales = numbers(unit, columns)
    bit, rest = parted(terms)
    result = fp9.decode(evaluate(unit, columns)["result"], "fp32").astype(float)
    alone = (np.frexp(np.abs(rest))[0] == 0.5) & (bit * rest < 0) & (result == bit * scales) & (bit != 0)
    alone &= np.abs(rest) > np.abs(terms).max(axis=0)
    sizes = np.unique(np.abs(bit[alone]))
    powers = np.unique(np.abs(np.multiply.outer(*[format(operand).table[1 : format(operand).max_code + 1]] * 2)))
    powers = powers[np.frexp(powers)[0] == 0.5]
    assert len(sizes) > 0.8 * len(powers)
    assert {*np.sign(rest[alone])} == {-1.0, 1.0}


@pytest.mark.parametrize("operand", ["e4m3", "e5m2"])
def test_a_sum_that_is_rounded_by_itself_stands_in_all_places_below_the_smallest_normal_result(operand: str) -> None:
    """In nearly all, by one product. And beside that number: a bit taken from it leaves it or, flushed, nothing."""
    fmt, normal = format(operand), 2.0**-126
    unit = Dot("scaled", (fmt,), (fmt,), engine("ace_top4mx"), scale=format("e8m0"))
    columns = scaled_corner(unit, np.random.default_rng(0))
    terms, scales = numbers(unit, columns)
    alone = (np.count_nonzero(terms, axis=0) == 1) & np.isfinite(scales)
    places = {*np.frexp(terms[:, alone].sum(axis=0) * scales[alone])[1].tolist()}
    below, span = np.frexp(normal)[1], 2 * int(np.log2(fmt.max / fmt.smallest))
    assert len(places & {*range(below - span, below)}) > 0.95 * span
    bit, rest = parted(terms)
    taken = (np.abs(rest * scales) == normal) & (bit * rest < 0) & (columns["c"] == 0)
    results = {*fp9.decode(evaluate(unit, columns)["result"][taken], "fp32").tolist()}
    assert results == {-normal, 0.0, normal}


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", SCALED, ids=lambda unit: unit.name)
def test_every_pair_of_nan_1_and_the_ends_multiplies_every_block(unit: Dot) -> None:
    """Beside addends that are numbers, from the port or held, where nothing but the scales can make the result a
    NaN."""
    scale = unit.scale
    assert scale is not None
    columns = corner(unit, np.random.default_rng(0))
    ends = {0, scale.smallest_code, scale.code_of(Fraction(1)), scale.max_code, scale.nan_code(False)}
    for block in zip(unit.scale_names("a"), unit.scale_names("b"), strict=True):
        for number in beside_numbers(unit, columns):
            met = {*zip(*(columns[name][number].tolist() for name in block), strict=True)}
            assert met >= {*itertools.product(ends, repeat=2)}


def beside_numbers(unit: Dot, columns: Inputs) -> Iterator[NDArray[np.bool_]]:
    """Which operations add to a number, for each place that the addend comes from."""
    number = np.isfinite(fp9.decode(columns["c"], "fp32"))
    if not isinstance(unit, Mac):
        yield number
        return
    yield number & (columns["op"] == MacOp.LOAD)
    results = fp9.decode(evaluate(unit, columns)["result"], "fp32")
    yield np.isfinite(np.roll(results, 1)) & (columns["op"] == MacOp.ACCUMULATE)


@pytest.mark.parametrize("operand", ["e4m3", "e5m2"])
def test_an_accumulator_of_blocks_meets_what_a_dot_of_them_does(operand: str) -> None:
    """A bit that is taken from a sum above every product, alone what is left: added to c and to what is held."""
    formats = (format(operand),)
    unit = Mac("scaled", formats, formats, engine("mx(G=4)"), scale=format("e8m0"))
    columns = corner(unit, np.random.default_rng(0))
    result = fp9.decode(evaluate(unit, columns)["result"], "fp32").astype(float)
    with np.errstate(invalid="ignore"):
        terms, scales = numbers(unit, columns)
        bit, rest = parted(terms)
        alone = (bit * rest < 0) & (result == bit * scales) & (np.abs(rest) > np.abs(terms).max(axis=0))
    for operation in (MacOp.LOAD, MacOp.ACCUMULATE):
        assert len(np.unique(np.abs(bit[alone & (columns["op"] == operation)]))) > 20


def test_one_bit_far_below_an_addend_is_all_that_is_lost_and_decides_a_tie() -> None:
    """At every distance from the rest of a sum, up to that of three of the largest products of e5m2 and its smallest;
    and a tie goes by each of the last places of an addend far below it."""
    e5m2 = (format("e5m2"),)
    unit = Dot("scaled", e5m2, e5m2, engine("mx(G=4)"), scale=format("e8m0"))
    alone, ties = bit_far_below_corner(unit, np.random.default_rng(0))
    terms, _ = numbers(unit, alone)
    lane = np.argmin(np.where(terms == 0, np.inf, np.abs(terms)), axis=0)
    bit = np.take_along_axis(terms, lane[None], axis=0)[0]
    without = {name: np.where(lane == place, 0, alone[name]) for place, name in enumerate(unit.lane_names("b"))}
    inexact, exact = (evaluate(unit, alone | other)["flags"] & Flags.INEXACT for other in ({}, without))
    distances = np.log2(np.abs(terms.sum(axis=0) / bit - 1)[inexact > exact]).astype(int)
    assert {*distances.tolist()} >= {*range(1, 66)}
    results = evaluate(unit, ties)["result"]
    flipped = [evaluate(unit, ties | {"c": ties["c"] ^ np.uint32(1 << place)})["result"] for place in range(12)]
    assert all(np.count_nonzero(results != other) for other in flipped)


def test_results_of_few_exponents_have_such_operations_too() -> None:
    """FP16 spans less than the products of e5m2: addends end at zero there."""
    e5m2 = (format("e5m2"),)
    unit = Mac("scaled", e5m2, e5m2, engine("fma_fp16(G=4)"), scale=format("e8m0"))
    assert all(len(part["c"]) for part in bit_far_below_corner(unit, np.random.default_rng(0)))
