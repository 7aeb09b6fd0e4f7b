"""Test inputs for the identification of accumulators: sums of powers of two with few nonzero terms.

Most sums have at most three nonzero terms, so that a wrong prediction points to one property of the accumulator.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fp9.engines import ENGINES
from fp9_compare.identify.interface import Interface
from fp9_compare.identify.probes.operand_pool import OperandPool, Row, codes_of, negated
from fp9_compare.identify.vectors import Vectors

# --- families -------------------------------------------------------------------------------------------------------


def _order(p: OperandPool) -> Iterator[Row]:
    # Two large products cancel. A small product that is added to a large product is lost by rounding, and a small
    # product that is added after the cancellation remains.
    large, against, places = p.power(p.top), p.power(p.top, True), _places(p.depth)
    smallest = p.power(p.lowest)
    for i, j in [(0, j) for j in places] + [(i, i + 1) for i in places[:-1]] + [(i, p.depth - 1) for i in places[:-1]]:
        if i < j:
            yield "order", {i: large, j: against}, 0.0, smallest
    for k in places[1:]:
        yield "order", {0: large, 1: against, k: smallest}, 0.0, None
        yield "order", {0: smallest, k - 1: large, k: against}, 0.0, None
    for precision, j in itertools.product(_precisions(p), places[1:]):
        small = p.full(p.top - precision - 1, j % 2 == 1)
        yield "order", {0: large, j: against, j // 2: small}, 0.0, None


def _places(depth: int) -> list[int]:
    powers = [2**n + d for n in range(depth.bit_length()) for d in (-1, 0, 1)]
    found = {*range(1, 9), *powers, *range(0, depth, max(depth // 16, 1)), depth - 1}
    return sorted(place for place in found if 1 <= place < depth)


def _precisions(p: OperandPool) -> list[int]:
    every = {engine.result.format.precision for engine in ENGINES.values()} | {p.interface.output.precision}
    return sorted(precision for precision in every if precision <= p.interface.output.precision)


def _window(p: OperandPool) -> Iterator[Row]:
    # Two large products cancel, and the exponent of a third product takes all values. The third one vanishes outside
    # the alignment window.
    places = [(0, 1, 2), (0, 2, 1), (0, 2, 4), (1, 3, 0)]
    for drop in range(1, p.top - p.lowest + 1):
        for turn, (i, j, k) in enumerate(places):
            if k < p.depth and j < p.depth:
                negative = bool((drop + turn) % 2)
                terms = {i: p.power(p.top), j: p.power(p.top, True), k: p.full(p.top - drop, negative)}
                yield "window", terms, 0.0, None


def _addend(p: OperandPool) -> Iterator[Row]:
    middle = (p.top + max(p.lowest, p.sum_lowest)) // 2
    for drop in range(0, p.top - p.lowest + 20):
        sign = -1.0 if drop % 2 else 1.0
        if p.sum_lowest <= p.top - drop:
            c = sign * 2.0 ** (p.top - drop)
            both = {0: p.power(p.top), 1 % p.depth: p.power(p.top, True)}
            yield "addend", both, sign * p.largest(p.top - drop), None
            yield "addend", {0: p.power(p.top, drop % 4 < 2)}, c, None
            if drop < p.interface.output.precision + 3:
                yield "addend", {0: p.power(p.top, drop % 2 == 1)}, sign * p.next(p.top - drop), None
        if middle + drop < p.sum_highest:
            c = sign * 2.0 ** (middle + drop)
            yield "addend", {0: p.full(middle, drop % 4 < 2)}, c, None
            if middle + drop <= p.top and p.depth > 1:
                against = p.power(middle + drop, drop % 2 == 0)
                yield "addend", {0: against, 1: p.full(middle, drop % 4 < 2)}, c, None


def _rounding(p: OperandPool) -> Iterator[Row]:
    # The results lie on or near midpoints between two numbers.
    base = max(min(p.top, 0), p.lowest + 1)
    for precision in _precisions(p):
        for negative, odd in itertools.product((False, True), repeat=2):
            sign = -1.0 if negative else 1.0
            for half, more in ((0, None), (0, 1), (-1, None), (-1, 1), (0, -1)):
                c = sign * (2.0**base + odd * 2.0 ** (base - precision + 1))
                tail = base - precision + half
                if tail < p.lowest or base - precision + 1 < p.sum_lowest:
                    continue
                terms = {0: p.power(tail, negative)}
                if more is not None and p.depth > 1:
                    terms[1] = p.power(max(tail - 3, p.lowest), negative == (more > 0))
                yield "rounding", terms, c, None
                if p.depth > 3:
                    both = {2: p.power(base, negative), **terms}
                    both |= {3: p.power(base - precision + 1, negative)} if odd else {}
                    yield "rounding", both, 0.0, None


def _small(p: OperandPool) -> Iterator[Row]:
    for exponent in range(p.sum_lowest, p.top):
        number = p.largest(exponent)
        yield "small", {}, number if exponent % 2 else -number, None
        if p.lowest <= exponent < p.sum_lowest + 30:
            yield "small", {0: p.power(exponent)}, -(2.0**p.sum_lowest), None
    for exponent in range(p.lowest, min(p.lowest + 24, p.top)):
        yield "small", {0: p.full(exponent, exponent % 2 == 1)}, 0.0, None
        yield "small", {0: p.power(exponent), p.depth - 1: p.full(p.lowest, exponent % 2 == 1)}, 0.0, None
        if p.sum_lowest <= exponent:
            yield "small", {0: p.full(p.lowest, True)}, 2.0**exponent, None


def _large(p: OperandPool) -> Iterator[Row]:
    largest = float(p.interface.output.max_magnitude)
    for negative in (False, True):
        sign, top = (-1.0 if negative else 1.0), p.power(p.highest, negative)
        yield "large", {0: top}, sign * largest, None
        yield "large", {0: top}, sign * 2.0**p.sum_highest, top
        yield "large", {p.depth - 1: p.power(p.highest, not negative)}, sign * largest, None
        yield "large", {0: top, p.depth - 1: p.power(p.highest, not negative)}, sign * largest, None
        yield "large", {0: p.power(0, negative)}, sign * largest, None
        yield "large", {}, 0.0, top


def _special(p: OperandPool) -> Iterator[Row]:
    kinds: list[Callable[[float], bool]] = [math.isnan, lambda x: x == math.inf, lambda x: x == -math.inf]
    numbers = [math.nan, math.inf, -math.inf] if p.interface.output.has_inf else [math.nan]
    zero = p.zero
    for kind in kinds:
        for pair in p.special(kind):
            for c in (0.0, 1.0, *numbers):
                yield "special", {0: pair}, c, None
            yield "special", {p.depth - 1: pair}, 0.0, p.power(0)
            yield "special", {0: (pair[0], zero[1])}, 1.0, None
            yield "special", {0: (zero[0], pair[1])}, 1.0, None
    for c in (*numbers, -0.0, 0.0):
        yield "special", {}, c, None
        yield "special", {0: p.power(p.lowest)}, c, None
        yield "special", {0: p.power(0), p.depth - 1: p.power(0, True)}, c, None
    minus = (p.power(0, True)[0], zero[1])
    yield "special", {}, -0.0, minus
    yield "special", {}, 0.0, minus


FAMILIES: tuple[Callable[[OperandPool], Iterator[Row]], ...] = (
    _order,
    _window,
    _addend,
    _rounding,
    _small,
    _large,
    _special,
)


@functools.lru_cache(maxsize=8)
def structured(interface: Interface) -> Vectors:
    """Return the probe sums that the functions in `FAMILIES` generate, without duplicates."""
    pool = OperandPool(interface)
    made = pool.vectors(row for family in FAMILIES for row in family(pool))
    keys = [(x.tobytes(), y.tobytes(), np.float64(c).tobytes()) for x, y, c in zip(made.a, made.b, made.c, strict=True)]
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    return made.take(sorted(first.values()))


def thinned(vectors: Vectors, share: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return the indices of every `share`-th sum for each test purpose, such as "window" or "rounding".

    The function selects at least 24 sums for each test purpose. If a test purpose has fewer than 24 sums, the function
    selects all its sums.
    """
    found: list[int] = []
    for purpose in dict.fromkeys(vectors.purposes):
        rows = [i for i, own in enumerate(vectors.purposes) if own == purpose]
        found += rows[:: max(1, min(share, len(rows) // 24))]
    return np.array(sorted(found), dtype=np.intp)


# --- at random ------------------------------------------------------------------------------------------------------


def drawn(interface: Interface, count: int, rng: np.random.Generator) -> Vectors:
    """Return random sums, some of them sparse and some with cancelling products."""
    pool = OperandPool(interface)
    a, b = (np.array(sorted(codes_of(fmt).items())) for fmt in (interface.a, interface.b))
    shape = (count, interface.depth)
    codes_a = _spread(a, shape, rng)
    codes_b = _spread(b, shape, rng)
    full_a = np.array([pool.zero[0]], dtype=interface.a.dtype)
    density = rng.choice([1.0, 0.5, 4 / interface.depth, 2 / interface.depth], size=(count, 1))
    keep = rng.random(shape) < density
    codes_a = np.where(keep, codes_a, full_a)
    _cancel(interface, codes_a, codes_b, rng)
    return Vectors(codes_a, codes_b, _addends(pool, count, rng), ("random",) * count)


def _spread(numbers: np.ndarray[Any, Any], shape: tuple[int, int], rng: np.random.Generator) -> Any:
    # Each row has numbers from another random range of magnitudes.
    negative = {-x: code for x, code in numbers.tolist() if x < 0}
    signs = np.array([[code, negative.get(x, code)] for x, code in numbers.tolist() if x > 0], dtype=np.uint32)
    count = len(signs)
    low = rng.integers(0, count, (shape[0], 1))
    width = rng.integers(1, count + 1, (shape[0], 1))
    places = np.minimum(low + rng.integers(0, count, shape) % width, count - 1)
    picked = signs[places, rng.integers(0, 2, shape)]
    return picked.astype(np.uint8 if numbers[:, 1].max() < 256 else np.uint16)


def _cancel(interface: Interface, a: Any, b: Any, rng: np.random.Generator) -> None:
    against, count = negated(interface.a), (len(a) + 1) // 2
    places = rng.permuted(np.tile(np.arange(interface.depth), (count, 1)), axis=1)
    half = interface.depth // 2
    first, second = places[:, :half], places[:, half : 2 * half]
    some = np.arange(half) < rng.integers(0, half + 1, (count, 1))
    rows = np.broadcast_to(2 * np.arange(count)[:, None], some.shape)[some]
    a[rows, second[some]], b[rows, second[some]] = against[a[rows, first[some]]], b[rows, first[some]]


def _addends(p: OperandPool, count: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    output = p.interface.output
    near = rng.integers(p.lowest, p.highest + 8, count)
    far = rng.integers(p.sum_lowest, p.sum_highest, count)
    kind = rng.integers(0, 4, count)
    exponents = np.clip(np.where(kind == 3, far, near), p.sum_lowest, p.sum_highest - 1)
    places = np.clip(exponents - p.sum_lowest, 0, output.precision - 1)
    fractions = np.floor(rng.random(count) * 2.0**places)
    fractions = np.where(rng.random(count) < 0.3, 0, fractions) / 2.0**places
    numbers = rng.choice([-1.0, 1.0], count) * np.ldexp(1.0 + fractions, exponents)
    return np.where(kind == 0, 0.0, numbers)
