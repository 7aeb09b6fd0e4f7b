"""Corner-case operations with one product and an addend, based on IBM FPgen's coverage models.

Each function returns codes of the operands `a`, `b` and `c`, shape (n,), for given operand and result formats.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode, encode
from fp9.formats import FixedFormat, Format
from fp9.suites.columns import (
    FEW_BITS,
    Codes,
    Triple,
    addend,
    beside_special,
    classes,
    crossed_magnitudes,
    finite,
    signed_magnitudes,
    walking_codes,
    walking_fractions,
)

Family = Callable[[Format, Format, FixedFormat, int, np.random.Generator], Triple]
Floats = NDArray[np.float64]

# Minimum number of products at each end of the range.
_END_PRODUCTS = 64


def class_cross(a: Format, b: Format, result: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Combine operands `a` and `b` of all classes, such as zero and NaN, with addends `c` of random classes."""
    x, y = crossed(classes(a), classes(b))
    pairs, few = _grid(rng, count, len(x), len(classes(result)))
    if count < len(x) * len(classes(result)):
        pairs[: len(x)] = rng.permutation(len(x))[:count]
    return x[pairs], y[pairs], np.array(classes(result), dtype=np.uint32)[few]


def special_cross(a: Format, b: Format, result: FixedFormat) -> Triple:
    specials = ([code for code in classes(fmt) if not np.isfinite(fmt.to_float(code))] for fmt in (a, b))
    x, y, z = crossed(*specials, classes(result))
    return x, y, z


def alignments(a: Format, b: Format, result: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Return addends of both signs at every exponent difference from the product."""
    p, fractions = result.fraction_bits, walking_fractions(result)
    distance, which, negative = _grid(rng, count, 2 * p + 25, len(fractions), 2)
    x, y = _factors(a, b, count, rng)
    return x, y, addend(result, np.abs(product(x, y, a, b)), distance - p - 12, fractions[which], negative)


def residues(a: Format, b: Format, result: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Return operands in which the addend nearly cancels the product."""
    x, y = _factors(a, b, count, rng)
    small = np.arange(count) % 3 == 0
    x, y = (np.where(small, rng.choice(_lowest(f, 16), count), drawn) for f, drawn in ((a, x), (b, y)))
    return x, y, nearly_opposite(product(x, y, a, b), result, rng)


def nearly_opposite(products: Floats, result: FixedFormat, rng: np.random.Generator) -> Codes:
    """Return addends that nearly cancel the products, with remainders of every bit length and both signs."""
    length, pattern, above = _grid(rng, len(products), result.fraction_bits + 4, 4, 2)
    top = np.where(length > 0, 1 << np.maximum(length - 1, 0), 0)
    drawn = rng.integers(0, np.maximum(top, 1))
    below = np.choose(pattern, [0, np.maximum(top - 1, 0), drawn, drawn & -1 << length // 2])
    left = np.where(length > 0, top | below, 0)
    return _moved(encode(-products, result, "rtz", "inf"), np.where(above, left, -left), result)


def boundaries(a: Format, b: Format, result: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Return operands whose product plus addend is at or next to a rounding boundary."""
    x, y = _factors(a, b, count, rng)
    return x, y, to_boundaries(product(x, y, a, b), result, rng)


def to_boundaries(products: Floats, result: FixedFormat, rng: np.random.Generator) -> Codes:
    """Return addends that put the sum at or next to a multiple of a quarter ulp."""
    p, fractions, count = result.fraction_bits, walking_fractions(result), len(products)
    distance, which, quarter, negative, beside = _grid(rng, count, 2 * p + 7, len(fractions), 4, 2, 4)
    exponent = _floor_log2(products) + distance - p - 2
    # In half of the operations, the product's lowest bit is at or just below the last bit of the sum.
    at_end = np.arange(count) % 2 == 0
    exponent = np.where(at_end, _lowest_bit(products) + p + distance % 4, exponent)
    sums = (((1 << p) | fractions[which]) + quarter / 4) * np.exp2(exponent - p)
    codes = encode(np.where(negative, -sums, sums) - products, result, "rtz", "inf")
    return _moved(codes, np.array([0, 0, 1, -1])[beside], result)


def ends(a: Format, b: Format, result: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Return operations whose sum is near the smallest or the largest result."""
    all_x, all_y = crossed(*(signed_magnitudes(fmt) for fmt in (a, b)))
    products = product(all_x, all_y, a, b)
    size, p = np.abs(products), result.fraction_bits
    order, reach = np.argsort(size, kind="stable"), 2.0 ** (p + 3)
    largest = result.to_float(result.max_code)
    low = order[: max(_END_PRODUCTS, int((size <= reach * result.smallest_normal).sum()))]
    high = order[-max(_END_PRODUCTS, int((size >= largest / reach).sum())) :]
    fractions = walking_fractions(result)
    steps = np.concatenate([np.arange(4), (np.arange(3)[:, None] << p | fractions).reshape(-1)])
    under = (steps[:, None] + np.arange(4) / 4).reshape(-1) * _lowest_step(result)
    last = largest - result.to_float(result.max_code - result.smallest_code)
    over = np.concatenate([largest + np.arange(-16, 17) / 4 * last, largest * np.exp2(1.0 - np.arange(p + 3))])
    parts = []
    for pool, sums, number in ((low, under, count // 2), (high, over, count - count // 2)):
        which, negative, beside = _grid(rng, number, len(sums), 2, 4)
        chosen = rng.choice(pool, number)
        codes = encode(np.where(negative, -1, 1) * sums[which] - products[chosen], result, "rtz", "inf")
        parts.append((all_x[chosen], all_y[chosen], _moved(codes, np.array([0, 0, 1, -1])[beside], result)))
    x, y, z = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return x, y, z


def results_beside_specials(a: Format, b: Format, result: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Return operations whose sums lie near numbers that one bit flip turns into 0, infinity or NaN."""
    codes = beside_special(result)
    which, negative, below = _grid(rng, count, len(codes), 2, result.fraction_bits + 6)
    sums = decode(codes.astype(result.dtype), result).astype(np.float64)[which] * np.where(negative, -1, 1)
    x, y, sizes = by_size(a, b)
    place = np.searchsorted(sizes, np.abs(sums) * np.exp2(3.0 - below))
    place = np.clip(place + rng.integers(-3, 4, count), 0, len(sizes) - 1)
    signs = rng.integers(0, 2, count)
    left = sums - np.where(signs, -sizes[place], sizes[place])
    c = encode(left, result, "rtz", "inf").astype(np.uint32)
    return (x[place] | signs << (a.bits - 1)).astype(np.uint32), y[place], c


@functools.lru_cache(maxsize=16)
def by_size(a: Format, b: Format) -> tuple[Codes, Codes, Floats]:
    """Return pairs of positive factors, sorted by product, as three arrays: factors `a`, factors `b` and products."""
    x, y = crossed(crossed_magnitudes(a), crossed_magnitudes(b))
    products = product(x, y, a, b)
    order = np.argsort(products, kind="stable")
    return x[order], y[order], products[order]


def just_above(a: Format, b: Format, least: Floats) -> tuple[Codes, Codes]:
    """Return factors whose product is equal to `least` or slightly larger."""
    x, y, sizes = by_size(a, b)
    at = np.minimum(np.searchsorted(sizes, least), len(sizes) - 1)
    factors, needed = [x[at], y[at]], least > 0
    for own, fmt in enumerate((a, b)):
        # The function `by_size` returns only a selection of wide operands.
        if fmt.bits > FEW_BITS:
            other = decode(factors[1 - own], (a, b)[1 - own]).astype(np.float64)
            factors[own][needed] = encode(least[needed] / other[needed], fmt, "rup", "saturate")
    return factors[0], factors[1]


def echoes(a: Format, b: Format, result: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Return addends with the product's significand, the opposite sign, and every exponent difference."""
    # If a circuit ignores a bit of the shift distance, the addend wrongly cancels the product.
    reach = result.fraction_bits + 2 * a.bits + 3
    (distance,) = _grid(rng, count, 2 * reach + 1)
    x, y = _factors(a, b, count, rng)
    away = np.exp2(distance - reach)
    return x, y, encode(-product(x, y, a, b) * away, result, "rtz", "inf").astype(np.uint32)


def extremes(a: Format, b: Format, result: FixedFormat, count: int, rng: np.random.Generator) -> Triple:
    """Return operations whose product and addend are both among the smallest, or both among the largest."""
    fractions = walking_fractions(result)
    first = np.arange(3)[:, None] << result.fraction_bits | fractions
    lowest = first.reshape(-1) << result.padding
    highest = result.max_code - ((first & ~(1 << result.fraction_bits)).reshape(-1) << result.padding)
    highest = np.maximum(highest, 0)  # a format of one exponent bit has no third binade
    parts = []
    for outer, addends in ((_lowest, lowest), (_highest, highest)):
        signed = [*outer(a, 3), outer(a, 1)[0] | 1 << (a.bits - 1)]
        parts.append(crossed(signed, outer(b, 1), np.concatenate([addends, addends | result.sign_mask])))
    x, y, z = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    (kept,) = _grid(rng, min(count, len(z)), len(z))
    return x[kept], y[kept], z[kept]


def addends(
    a: Format, b: Format, result: FixedFormat, count: int, rng: np.random.Generator, number: int, pairs: int
) -> Triple:
    """Return addends of every exponent, with products that are zero, 1, the smallest number, or random."""
    codes = walking_codes(result)
    # The pairs of operand formats divide the addends among them.
    codes = codes[number::pairs] if pairs > 1 else codes
    (kept,) = _grid(rng, min(count, len(codes)), len(codes))
    sign = 1 << (a.bits - 1)
    one, smallest = (int(encode([value], a, "rtz")[0]) for value in (1.0, a.smallest))
    partner = int(encode([1.0], b, "rtz")[0])
    x = rng.choice([0, sign, one, one | sign, smallest], len(kept))
    drawn_x, drawn_y = _factors(a, b, len(kept), rng)
    drawn = np.arange(len(kept)) % 3 == 0
    return np.where(drawn, drawn_x, x), np.where(drawn, drawn_y, partner), codes[kept].astype(np.uint32)


# Largest share of the operations that each function may use.
SHARES: dict[Family, float] = {
    class_cross: 0.15,
    alignments: 0.2,
    residues: 0.18,
    boundaries: 0.15,
    ends: 0.08,
    extremes: 0.04,
}

ADDENDS_SHARE = 0.2


def nans(a: Format, b: Format, result: FixedFormat, count: int, number: int, pairs: int) -> Triple:
    """Return NaN addends with walking-bit payloads, and products of every class."""
    codes = walking_codes(result)
    payloads = codes[(codes & result.magnitude_mask) > result.max_code][number::pairs]
    factors = classes(a), classes(b)[:: max(1, len(classes(b)) // 4)]
    x, y, z = crossed(*factors, payloads)
    wanted = len(z) // max(len(payloads), count // pairs)
    # A step with a common factor with the number of payloads would never select some payloads.
    steps = (step for step in range(1, math.prod(map(len, factors)) + 1) if math.gcd(step, len(payloads)) == 1)
    kept = slice(None, None, min(steps, key=lambda step: abs(step - wanted)))
    return x[kept], y[kept], z[kept]


# --- parts ----------------------------------------------------------------------------------------------------------


def crossed(*axes: Any) -> tuple[Codes, ...]:
    """Return all combinations of the arguments' codes, as arrays (n,)."""
    grid = np.meshgrid(*(np.asarray(axis) for axis in axes), indexing="ij")
    return tuple(axis.reshape(-1).astype(np.uint32) for axis in grid)


def _grid(rng: np.random.Generator, count: int, *sizes: int) -> tuple[NDArray[np.int64], ...]:
    # If `count` is no multiple of the grid size, the remaining points are sampled without replacement.
    total = int(np.prod(sizes))
    rest = rng.permutation(total)[: count % total]
    points = np.concatenate([np.tile(np.arange(total), count // total), rest])
    return tuple(axis.astype(np.int64) for axis in np.unravel_index(points, sizes))


def product(x: Codes, y: Codes, a: Format, b: Format) -> Floats:
    """Return the exact product of each pair of codes."""
    return decode(x, a).astype(np.float64) * decode(y, b).astype(np.float64)


def _factors(a: Format, b: Format, count: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    return rng.choice(finite(a), count), rng.choice(finite(b), count)


def _moved(codes: Codes, steps: Codes, result: FixedFormat) -> NDArray[np.uint32]:
    # Away from zero for positive steps, clamped between zero and the largest number. Infinities and NaN stay unchanged.
    magnitudes = codes.astype(np.int64) & result.magnitude_mask
    inside = magnitudes <= result.max_code
    magnitudes = np.where(inside, np.clip(magnitudes + (steps << result.padding), 0, result.max_code), magnitudes)
    return (magnitudes | codes.astype(np.int64) & result.sign_mask).astype(np.uint32)


def _floor_log2(values: Floats) -> NDArray[np.int64]:
    return np.frexp(values)[1].astype(np.int64) - 1


def _lowest_bit(values: Floats) -> NDArray[np.int64]:
    significand, exponent = np.frexp(values)
    whole = (significand * 2.0**53).astype(np.int64)
    return _floor_log2((whole & -whole).astype(np.float64)) + exponent - 53


def _lowest_step(fmt: FixedFormat) -> float:
    return fmt.smallest if fmt.subnormals else fmt.smallest_normal * 2.0**-fmt.fraction_bits


def _lowest(fmt: Format, count: int) -> NDArray[np.uint32]:
    return fmt.ordered_magnitudes()[1 : count + 1]


def _highest(fmt: Format, count: int) -> NDArray[np.uint32]:
    return fmt.ordered_magnitudes()[-count:]
