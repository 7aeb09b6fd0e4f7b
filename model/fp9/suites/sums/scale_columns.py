"""Stimulus for units with block scales: random scales, and addends whose exponents match the scaled products."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode
from fp9.formats import Format
from fp9.suites.columns import Inputs, fixed
from fp9.units import Dot

# Maximum absolute sum of an operation's scale exponents, enough to leave FP32's range at both ends.
_REACH = 150

# Maximum exponent difference between block scales of an operand, and share of block scales without this limit.
_NEAR, _APART = 4, 0.25

# Share of operations whose scale is a random code, including NaN.
_RARE = 1 / 32


def drawn_scales(unit: Dot, count: int, rng: np.random.Generator) -> Inputs:
    """Return random scales that move products below the smallest and above the largest result."""
    if unit.scale is None:
        return {}
    fmt = unit.scale
    any_code = rng.integers(0, 1 << fmt.bits, (2, count))
    if fmt.precision > 1:
        codes = any_code
    else:
        one = fmt.code_of(Fraction(1))
        first = rng.integers(0, 1 << fmt.bits, count)
        both = rng.integers(-_REACH, _REACH + 1, count)
        codes = np.clip(np.stack([first, 2 * one + both - first]), 0, fmt.max_code)
        codes = np.where(rng.random(count) < _RARE, any_code, codes)
    return {
        name: (codes[i] if block == 0 else _beside(fmt, codes[i], rng)).astype(np.uint32)
        for i, operand in enumerate("ab")
        for block, name in enumerate(unit.scale_names(operand))
    }


def scales_of_one(unit: Dot, count: int) -> Inputs:
    if unit.scale is None:
        return {}
    one = np.uint32(unit.scale.code_of(Fraction(1)))
    return {name: np.full(count, one) for operand in "ab" for name in unit.scale_names(operand)}


def reach_of_scales(unit: Dot) -> tuple[int, int]:
    """Return the lowest and the highest sum of two power-of-two scales' exponents."""
    fmt = unit.scale
    assert fmt is not None and fmt.precision == 1
    one = fmt.code_of(Fraction(1))
    return -2 * one, 2 * (fmt.max_code - one)


def scales_of(unit: Dot, exponents: NDArray[np.int64], rng: np.random.Generator) -> Inputs:
    """Return random pairs of power-of-two scales whose exponents add up to the given `exponents`.

    If no pair of scales has a given sum of exponents, the function returns a pair with the nearest possible sum.
    """
    fmt = unit.scale
    assert fmt is not None and fmt.precision == 1
    both = np.clip(exponents + 2 * fmt.code_of(Fraction(1)), 0, 2 * fmt.max_code)
    first = rng.integers(np.maximum(0, both - fmt.max_code), np.minimum(fmt.max_code, both) + 1)
    pair = zip("ab", (first, both - first), strict=True)
    return {name: codes.astype(np.uint32) for operand, codes in pair for name in unit.scale_names(operand)}


def _beside(fmt: Format, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    # Nearby scales make block sums overlap.
    near = np.clip(codes + (rng.integers(-_NEAR, _NEAR + 1, codes.size) << (fmt.precision - 1)), 0, fmt.max_code)
    return np.where(rng.random(codes.size) < _APART, rng.integers(0, 1 << fmt.bits, codes.size), near)


def scaled(unit: Dot, columns: Inputs, rng: np.random.Generator) -> Inputs:
    """Append a column for each scale port, and shift the addends' exponents to match the scaled products."""
    if unit.scale is None:
        return columns
    fmt, count = unit.scale, len(columns["c"])
    kind = rng.integers(0, 3, count)
    drawn = drawn_scales(unit, count, rng)
    powers = np.flatnonzero(_is_power(fmt))
    one = fmt.code_of(Fraction(1))
    scales = {
        name: np.choose(kind, [one, powers[codes % len(powers)] if fmt.precision > 1 else codes, codes])
        for name, codes in drawn.items()
    }
    moved = columns | {name: codes.astype(np.uint32) for name, codes in scales.items()}
    moved["c"] = with_scales(unit, moved, columns["c"])
    return {port.name: moved[port.name] for port in unit.inputs if port.name in moved}


def _is_power(fmt: Format) -> NDArray[np.bool_]:
    numbers = np.asarray(fmt.table, dtype=np.float64)
    return np.asarray(np.isfinite(numbers) & (numbers > 0) & (np.frexp(numbers)[0] == 0.5))


def with_scales(unit: Dot, columns: Inputs, c: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Multiply addends by powers of two, to match the exponents of the scaled products."""
    if unit.scale is None:
        return c
    fmt = fixed(unit.engine.output)
    scales = (columns[unit.scale_names(operand)[0]].astype(np.uint8) for operand in "ab")
    factor = np.prod([decode(codes, unit.scale).astype(np.float64) for codes in scales], axis=0)
    place, last = fmt.fraction_bits + fmt.padding, (1 << fmt.exponent_bits) - 1
    field = (c >> place).astype(np.int64) & last
    usable = np.where(np.isfinite(factor) & (factor > 0), factor, 1.0)
    shifted = np.clip(field + np.frexp(usable)[1] - 1, 0, last - 1)
    # Zeros, subnormals and special codes stay unchanged.
    new = np.where((field == 0) | (field == last), field, shifted)
    return np.asarray(c.astype(np.int64) + ((new - field) << place), dtype=np.uint32)
