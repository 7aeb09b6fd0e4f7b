"""Corner-case operations of scaled dot products.

Some operations have products that are powers of two, and scales that shift the single 1 bit of a product to any
position. In some operations, the two scales of a block are NaN, 1, or the smallest or largest scale.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode, encode
from fp9.formats import Format, floor_log2
from fp9.suites.columns import Codes, Inputs, concatenated, cycled, drawn_port, fixed
from fp9.suites.sums.exact import finite_factors
from fp9.suites.sums.product_and_addend import by_size, product
from fp9.suites.sums.scale_columns import drawn_scales, scales_of, with_scales
from fp9.suites.sums.several_products import by_exponent
from fp9.suites.sums.sum_corner import near_product
from fp9.units import Dot

COUNT = 3000
"""Number of operations for each pair of formats."""

# Maximum exponent difference of addend and product. At this difference, rounding discards the smaller term.
_AROUND = 60


def scaled_corner(unit: Dot, rng: np.random.Generator) -> Inputs:
    pairs = [*itertools.product(range(len(unit.a)), range(len(unit.b)))]
    parts = [_lone_bits(unit, first, second, rng) for first, second in pairs]
    parts += [part for pair in pairs for part in _borrowed(unit, *pair, rng)]
    return concatenated([*parts, *(part for pair in pairs for part in _tiny(unit, *pair, rng))])


def paired_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    """Yield operations in which one random block has special or extreme scales for both operands."""
    if unit.scale is None:
        return
    columns = {port.name: drawn_port(port, COUNT, rng) for port in unit.operand_inputs}
    columns |= finite_factors(unit, COUNT, rng)
    ends = _ends(unit.scale)
    pairs = np.resize(np.array([*itertools.product(ends, repeat=2)], dtype=np.uint32), (COUNT, 2))
    names = np.array([unit.scale_names(operand) for operand in "ab"])
    block = rng.integers(0, names.shape[1], COUNT)
    for number, (operand, place) in enumerate(np.ndindex(*names.shape)):
        name = str(names.flat[number])
        columns[name] = np.where(block == place, pairs[:, operand], columns[name])
    near = with_scales(unit, columns, near_product(unit, columns, rng))
    columns["c"] = np.where(rng.random(COUNT) < 1 / 2, near, columns["c"])
    yield {port.name: columns[port.name] for port in unit.operand_inputs}


def _ends(scale: Format) -> list[int]:
    nan = scale.nan_code(False)
    codes = {0, scale.smallest_code, scale.code_of(Fraction(1)), scale.max_code, *(() if nan is None else (nan,))}
    return sorted(codes)


def _tiny(unit: Dot, first: int, second: int, rng: np.random.Generator) -> Iterator[Inputs]:
    # The scaled sum is below the smallest normal result.
    scale = unit.scale
    if unit.engine.chunk.length is None or scale is None or scale.precision > 1:
        return
    largest_product = int(powers(unit.a[first], unit.b[second])[2][-1])
    normal = fixed(unit.engine.result.format).min_normal_exponent - largest_product
    lowest = 2 * floor_log2(scale.value_of(scale.smallest_code))
    yield _lone_bits(unit, first, second, rng, range(min(lowest, normal), normal + 1))
    yield from _borrowed(unit, first, second, rng, range(normal - unit.products.bit_length() - 1, normal + 1))


def _scales(unit: Dot, reach: range | None, rng: np.random.Generator) -> Inputs:
    if reach is None:
        return drawn_scales(unit, COUNT, rng)
    return scales_of(unit, rng.integers(reach.start, reach.stop, COUNT), rng)


def _lone_bits(unit: Dot, first: int, second: int, rng: np.random.Generator, reach: range | None = None) -> Inputs:
    # One or two nonzero products, which are powers of two. The addend is zero, nearly cancels them, or is far larger or
    # smaller.
    rows, lanes = np.arange(COUNT), unit.products
    x, y, exponents = powers(unit.a[first], unit.b[second])
    distance = np.resize(np.arange(len(x)), COUNT)
    large = rng.integers(distance, len(x))
    small = large - distance
    lane = rng.integers(0, lanes, COUNT)
    other = (lane + rng.integers(1, lanes, COUNT)) % lanes
    columns = _scales(unit, reach, rng)
    a, b = (np.zeros((COUNT, lanes), dtype=np.int64) for _ in "ab")
    terms = []
    for place, chosen, present in ((lane, large, True), (other, small, rng.random(COUNT) < 0.8)):
        negative = rng.integers(0, 2, COUNT)
        a[rows, place] = np.where(present, x[chosen] | negative << (unit.a[first].bits - 1), 0)
        b[rows, place] = np.where(present, y[chosen], 0)
        size = np.where(present, np.exp2(exponents[chosen].astype(np.float64)), 0.0)
        terms.append(np.where(negative, -size, size) * _scale_of(unit, columns, place))
    columns["c"] = _opposite(unit, terms, rng)
    return on_ports(unit, (first, second), a, b, columns)


def _borrowed(
    unit: Dot, first: int, second: int, rng: np.random.Generator, reach: range | None = None
) -> Iterator[Inputs]:
    # The other products have the same sign, and their sum is a power of two. The borrow ripples up to this power of
    # two.
    formats, lanes = (unit.a[first], unit.b[second]), unit.products
    full = full_sums(*formats, lanes - 1) if unit.products_of_scales == lanes else []
    if not full:
        return
    x, y, exponents = powers(*formats)
    which, small = np.divmod(rng.permutation(COUNT) % (len(full) * len(x)), len(x))
    negative, rest = rng.integers(0, 2, COUNT), np.stack([x[small], y[small]], axis=1)
    codes = np.concatenate([np.array(full)[which], rest[:, None]], axis=1)
    codes[:, :, 0] |= (negative[:, None] ^ (np.arange(lanes) == lanes - 1)) << (formats[0].bits - 1)
    codes = in_any_lanes(codes, rng)
    columns = _scales(unit, reach, rng)
    size = np.where(negative, -1.0, 1.0) * _scale_of(unit, columns, np.zeros(COUNT, dtype=np.int64))
    sums = np.array([product(lane[:, 0], lane[:, 1], *formats).sum() for lane in map(np.array, full)])
    columns["c"] = _opposite(unit, [size * sums[which], -size * np.exp2(exponents[small].astype(np.float64))], rng)
    yield on_ports(unit, (first, second), codes[..., 0], codes[..., 1], columns)


@functools.lru_cache(maxsize=16)
def full_sums(a: Format, b: Format, lanes: int) -> list[list[tuple[int, int]]]:
    """Return lists of `lanes` factor pairs. The products in each list add up to a power of two."""
    # The power of two is larger than every product of the formats.
    x, y, sizes = by_size(a, b)
    found = []
    for exponent in range(int(np.log2(sizes[-1])) + 1, int(np.log2(sizes[-1] * lanes)) + 1):
        left = 2.0**exponent - (lanes - 1) * sizes
        if len(equal := np.flatnonzero(np.isin(left, sizes))):
            one, other = equal[-1], np.searchsorted(sizes, left[equal[-1]])
            found.append([(int(x[i]), int(y[i])) for i in (*[one] * (lanes - 1), other)])
    return found


def in_any_lanes(codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Shuffle the lanes of factors (n, lanes, 2) within each operation."""
    order = rng.permuted(np.tile(np.arange(codes.shape[1]), (len(codes), 1)), axis=1)
    return np.take_along_axis(codes, order[..., None], axis=1)


def on_ports(unit: Dot, pair: tuple[int, int], a: NDArray[np.int64], b: NDArray[np.int64], columns: Inputs) -> Inputs:
    """Add columns for the operand ports to `columns`, with codes from arrays `a` and `b` of shape (n, products)."""
    # `pair` holds the indices of the formats of `a` and `b`.
    biases = {port.name: port for port in unit.inputs if port.name.endswith("_bias")}
    columns = columns | _selects(*pair, len(a))
    columns |= {name: np.where(np.arange(len(a)) % 2, cycled(port, len(a)), 0) for name, port in biases.items()}
    for codes, operand in ((a, "a"), (b, "b")):
        columns |= {name: codes[:, i].astype(np.uint32) for i, name in enumerate(unit.lane_names(operand))}
    return {port.name: columns[port.name] for port in unit.inputs if port.name in columns}


@functools.lru_cache(maxsize=16)
def powers(a: Format, b: Format) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return arrays of factors `a`, factors `b` and rising exponents. Each product is a different power of two."""
    x, y, exponents = by_exponent(a, b)
    of_power = np.flatnonzero(np.abs(product(x, y, a, b)) == np.exp2(exponents.astype(np.float64)))
    _, first = np.unique(exponents[of_power], return_index=True)
    return x[of_power[first]], y[of_power[first]], exponents[of_power[first]]


def _selects(first: int, second: int, count: int) -> Inputs:
    return {f"{operand}_format": np.full(count, index, np.uint32) for operand, index in (("a", first), ("b", second))}


def _scale_of(unit: Dot, columns: Inputs, lane: Codes) -> NDArray[np.float64]:
    assert unit.scale is not None
    block = lane // unit.products_of_scales
    codes = (
        np.stack([columns[name] for name in unit.scale_names(operand)])[block, np.arange(COUNT)] for operand in "ab"
    )
    one, other = (decode(code.astype(np.uint8), unit.scale).astype(np.float64) for code in codes)
    return one * other


def _opposite(unit: Dot, terms: list[NDArray[np.float64]], rng: np.random.Generator) -> NDArray[np.uint32]:
    fmt = fixed(unit.engine.output)
    one, other = terms
    around = one * np.exp2(rng.integers(-_AROUND, _AROUND + 1, COUNT))
    values = np.choose(rng.integers(0, 5, COUNT), [np.zeros(COUNT), -one, -other, -(one + other), around])
    codes = encode(values, fmt, "rtz").astype(np.int64)
    moved = (codes & fmt.magnitude_mask) + rng.choice([0, 0, 0, -1, 1], COUNT)
    beside = codes & fmt.sign_mask | np.clip(moved, 0, fmt.max_code)
    return np.where(np.isfinite(values), beside, codes).astype(np.uint32)
