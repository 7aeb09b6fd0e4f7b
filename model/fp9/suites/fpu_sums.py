"""Operands of sums that are difficult for a multi-format FPU: subnormal results, cancellation and long carries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.formats import FixedFormat, Format
from fp9.formats.rounding import Rounding
from fp9.suites.fpu_operands import Formats, general
from fp9.units import MultiFpu, MultiFpuOp

# Two of four ways to choose the operands of sums with long carries.
_SPARSE, _FAR = 0, 1

# Fraction of an ulp that the modes below round away from zero, for numbers of the given sign or (0) of both signs. The
# shortest fractions are 2^-2 to 2^-11, above one half if the mode is to nearest.
_TAIL = 0.75
_SHORTEST_TAILS = range(2, 12)
_AWAY_BY_SIGN = {Rounding.RNE: 0, Rounding.RNA: 0, Rounding.RUP: 1, Rounding.RDN: -1}


def reaches_below_normal(op: MultiFpuOp, formats: dict[str, Format]) -> bool:
    result = formats["result"]
    if not isinstance(result, FixedFormat) or not result.subnormals:
        return False
    if op is MultiFpuOp.CONVERT:
        return formats["a"].precision > result.precision + 1
    if op is not MultiFpuOp.FMADD or formats["c"] != result:
        return False
    lowest, end = _exponents(formats["a"], formats["b"], result)
    return bool(lowest < end)


def _exponents(a: Format | Formats, b: Format | Formats, result: Format | Formats) -> tuple[Any, Any]:
    # Exponents (the lowest and the end) of a normal number in format a, for which a normal number in format b gives a
    # product that is half a subnormal ulp of the result.
    product = result.min_normal_exponent - result.precision
    lowest = np.maximum(a.min_normal_exponent, product - np.frexp(b.max)[1] + 2)
    return lowest, np.minimum(np.frexp(a.max)[1] - 1, product - b.min_normal_exponent)


def below_normal(
    unit: MultiFpu,
    op: MultiFpuOp,
    formats: dict[str, Formats],
    scales: NDArray[np.int64],
    rng: np.random.Generator,
    shortest: bool = False,
) -> dict[str, NDArray[np.uint32]]:
    # The exact result is inexact and just below the smallest normal number. Rounded to the precision of normal numbers,
    # the exact result can be the smallest normal number only if all its leading fraction bits are 1. In most rows, one
    # of these bits is 0. The rounding is away from zero. In a sum, the product is the last leading bit and the tail.
    # The tail has one bit, after the bit for one half if the mode is to nearest, or is 0.75 ulp.
    result, rows = formats["result"], len(scales)
    ulp = np.ldexp(result.smallest_normal, -result.precision)
    bit = np.arange(rows) % result.precision
    zero = np.where(bit == result.precision - 1, 0.0, np.ldexp(1.0, bit))
    codes, sign, tail = _rounded_away(unit, rows, rng, shortest)
    wanted = result.smallest_normal - ulp * (zero + 1 - tail)
    codes |= general(unit, op, formats, scales, rng)
    if op is MultiFpuOp.CONVERT:
        return codes | {"a": formats["a"].nearest(np.ldexp(sign * wanted, -scales))}
    product = ulp * np.where(zero == 1, tail, 1 + tail)
    fraction = np.ones(rows) if shortest else rng.uniform(1, 2, rows)
    factor = np.ldexp(fraction, rng.integers(*_exponents(formats["a"], formats["b"], result), rows))
    codes["a"] = formats["a"].nearest(factor)
    with np.errstate(divide="ignore"):
        codes["b"] = formats["b"].nearest(sign * product / formats["a"].numbers(codes["a"]))
    return codes | {"c": formats["c"].nearest(sign * (wanted - product))}


def close(
    unit: MultiFpu, op: MultiFpuOp, formats: dict[str, Formats], scales: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    # In a quarter of the rows, all exponents are independent. In the other rows, the addend and the result have the
    # product's exponent, and at most two zeros lie between the significands of product and addend. In half of the rows,
    # a factor is subnormal where its format allows this product. Some products are below the result's smallest number,
    # and some addends are 0.
    a, b, c, result = (formats[name] for name in ("a", "b", "c", "result"))
    rows, (low_a, high_a), (low_b, high_b) = len(scales), _finite_exponents(a), _finite_exponents(b)
    lows, highs = zip((low_a + low_b, high_a + high_b), _finite_exponents(c), _finite_exponents(result), strict=True)
    low, high = np.sort([np.maximum.reduce(lows), np.minimum.reduce(highs)], axis=0)
    low = np.maximum(low_a + low_b, low - result.precision)
    of_a, of_b, of_c = (_often_low(*_finite_exponents(fmt), fmt, rows, rng) for fmt in (a, b, c))
    product = _often_low(low, high, result, rows, rng)
    lowest, highest = np.maximum(low_a, product - high_b), np.minimum(high_a, product - low_b)
    beside = rng.integers(lowest, np.maximum(lowest, highest) + 1)
    shared = np.clip(np.choose(rng.integers(0, 4, rows), [of_a, product - of_b, beside, beside]), lowest, highest)
    away = rng.integers(-np.maximum(c.precision, result.precision) - 2, a.precision + b.precision + 2, rows)
    independent = rng.random(rows) < 1 / 4
    exponents = {
        "a": np.where(independent, of_a, shared),
        "b": np.where(independent, of_b, product - shared),
        "c": np.where(independent, of_c, product - away),
    }
    numbers = {name: np.ldexp(_significands(formats[name], rows, rng), each) for name, each in exponents.items()}
    numbers["c"] = np.where(rng.random(rows) < 1 / 16, np.copysign(0, numbers["c"]), numbers["c"])
    return {name: formats[name].nearest(number) for name, number in numbers.items()}


def _finite_exponents(formats: Formats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lowest = formats.of_each(lambda fmt: math.frexp(fmt.smallest)[1] - 1)
    return lowest, formats.of_each(lambda fmt: math.frexp(fmt.max)[1] - 1)


def _often_low(
    low: NDArray[np.int64], high: NDArray[np.int64], formats: Formats, rows: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    # Exponents from `low` to `high`. In half of the rows, an exponent is so low that it is subnormal in most formats.
    lowest = low + rng.integers(0, np.minimum(formats.precision, high - low + 1), rows)
    return np.where(rng.random(rows) < 1 / 2, lowest, rng.integers(low, high + 1, rows))


def _significands(formats: Formats, rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    # Signed significands. A half of the fractions is random, a quarter has at most two ones, and a quarter has at most
    # two zeros.
    width = formats.precision - 1
    few = (1 << rng.integers(0, np.maximum(width, 1), (2, rows))) & (1 << width) - 1
    sparse, every = few[0] | few[1], rng.integers(0, 1 << width, rows)
    fraction = np.choose(rng.integers(0, 4, rows), [sparse, sparse ^ (1 << width) - 1, every, every])
    significands: NDArray[np.float64] = rng.choice([-1, 1], rows) * (1 + np.ldexp(fraction, -width))
    return significands


def cancelling(
    unit: MultiFpu, op: MultiFpuOp, formats: dict[str, Formats], scales: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    # The addend cancels the product, in most rows except for a relative difference of a random power of two.
    codes, rows = close(unit, op, formats, scales, rng), len(scales)
    product = formats["a"].numbers(codes["a"]) * formats["b"].numbers(codes["b"])
    place = rng.integers(1, formats["a"].precision + formats["b"].precision, rows)
    left = np.where(rng.random(rows) < 3 / 4, rng.choice([-1, 1], rows) * np.ldexp(1.0, -place), 0)
    sign = 1 if op in (MultiFpuOp.FMSUB, MultiFpuOp.FNMSUB) else -1
    return codes | {"c": formats["c"].nearest(sign * product * (1 + left))}


def carries_across(op: MultiFpuOp, formats: dict[str, Format]) -> bool:
    if op is not MultiFpuOp.FMADD:
        return False
    return all(isinstance(formats[name], FixedFormat) and formats[name].precision > 1 for name in "abc")


def with_carry(
    unit: MultiFpu, op: MultiFpuOp, formats: dict[str, Formats], scales: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    # The addend replaces the product's lowest bits by zeros, with a carry or a borrow across them, or by ones. The
    # addend has few bits, all its bits, or any number. In a quarter of the rows, the product is (1 + 2^-i) (1 + 2^-j),
    # and the addend leaves 1 + 2^-(i+j). In another quarter, the product has few bits, and the addend is a far smaller
    # power of two.
    rows = len(scales)
    codes = general(unit, op, formats, scales, rng)
    way = rng.integers(0, 4, rows)
    exponent = np.where(way == _FAR, rng.integers(0, 7, rows), 0)
    short = rng.choice([0.0, 0.5], rows)
    places = {name: rng.integers(1, formats[name].precision, rows) for name in "ab"}
    factors = {}
    for name, place in places.items():
        last = np.ldexp(1.0, -place)
        fraction = np.select([way == _SPARSE, way == _FAR], [last, short], rng.random(rows) // last * last)
        factor = np.ldexp(rng.choice([-1, 1], rows) * (1 + fraction), exponent if name == "a" else 0)
        codes[name] = formats[name].nearest(factor)
        factors[name] = formats[name].numbers(codes[name])
    product = factors["a"] * factors["b"]
    width = formats["a"].precision + formats["b"].precision
    ulp = np.ldexp(1.0, 2 - width)
    size = np.ldexp(ulp, _replaced_bits(width, formats["c"].precision, rows, rng))
    low = np.abs(product) % size
    addend = np.where(rng.random(rows) < 1 / 2, size - low, -low) + ulp * rng.integers(-1, 2, rows)
    sparse = np.ldexp(1.0, -places["a"] - places["b"]) + 1 - np.abs(product)
    # Two thirds of the distances lie beyond the product's lowest bit.
    distance = np.where(rng.random(rows) < 1 / 3, rng.integers(1, width, rows), rng.integers(width, width + 8, rows))
    far = rng.choice([-1, 1], rows) * np.ldexp(1.0, exponent - distance)
    addend = np.select([way == _SPARSE, way == _FAR], [sparse, far], addend)
    return codes | {"c": formats["c"].nearest(np.sign(product) * addend)}


def _replaced_bits(
    width: NDArray[np.int64], precision: NDArray[np.int64], rows: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    # Any number of bits, at most six, or as many as the addend has.
    numbers = [rng.integers(1, width + 2, rows), rng.integers(1, 7, rows), precision]
    return np.choose(rng.integers(0, 3, rows), numbers)


def _rounded_away(
    unit: MultiFpu, rows: int, rng: np.random.Generator, shortest: bool
) -> tuple[dict[str, NDArray[np.uint32]], NDArray[np.int64], NDArray[np.float64]]:
    # Select values of rounding modes, and signs and tails (fractions of an ulp) of numbers that these modes round away
    # from zero.
    sign, rounding = rng.choice([-1, 1], rows), np.zeros(rows, np.int64)
    modes = [index for index, mode in enumerate(unit.roundings) if mode in _AWAY_BY_SIGN]
    if modes:
        rounding = rng.choice(modes, rows)
    by_mode = np.array([_AWAY_BY_SIGN.get(mode, 0) for mode in unit.roundings])[rounding]
    bit = np.ldexp(1.0, -rng.choice(_SHORTEST_TAILS, rows))
    tail = bit + np.where(by_mode == 0, 1 / 2, 0) if shortest else np.full(rows, _TAIL)
    selects = {"rounding": rounding.astype(np.uint32)} if len(unit.roundings) > 1 and modes else {}
    return selects, np.where(by_mode == 0, sign, by_mode), tail
