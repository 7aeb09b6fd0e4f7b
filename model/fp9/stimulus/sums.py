"""Corner operations of sums of products: where product and addend meet, cancel, tie, underflow and overflow.

Each family crosses what decides a sum (IBM FPgen's coverage models): the classes of all operands; every exponent
difference with telling fractions; every cancellation length; the smallest and the largest sums; every code of each
operand beside a plain partner; every addend exponent and every NaN.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casting import decode, encode
from fp9.formats import FixedFormat, Format, Kind
from fp9.stimulus.columns import Inputs, concatenated, cycled, fixed, walking_codes, walking_fractions
from fp9.units import Dot

Codes = NDArray[Any]
Triple = tuple[Codes, Codes, Codes]
"""Codes of a, b and c, shape (n,) each."""


def sum_corner(unit: Dot, rng: np.random.Generator) -> Inputs:
    """Every family for every pair of formats; further lanes carry zeros, then other lanes' operands."""
    parts = []
    pairs = list(itertools.product(range(len(unit.a)), range(len(unit.b))))
    for number, (i, j) in enumerate(pairs):
        a, b, result = unit.a[i], unit.b[j], fixed(unit.engine.result)
        families = [
            _class_cross(a, b, result),
            _alignments(a, b, result, rng),
            _cancellations(a, b, result, rng),
            _extremes(a, b, result),
            _operand_codes(a, b),
            _addends(a, b, result, number, len(pairs)),
        ]
        parts += [_columns(unit, i, j, *triple, number) for triple in families]
    return concatenated(parts)


# --- families -------------------------------------------------------------------------------------------------------


def _class_cross(a: Format, b: Format, result: FixedFormat) -> Triple:
    """Every class of a with every class of b and of c."""
    return _crossed(_classes(a), _classes(b), _classes(result))


def _crossed(a: Any, b: Any, c: Any) -> Triple:
    grid = np.meshgrid(np.asarray(a), np.asarray(b), np.asarray(c), indexing="ij")
    x, y, z = (axis.reshape(-1).astype(np.uint32) for axis in grid)
    return x, y, z


@functools.lru_cache(maxsize=64)
def _classes(fmt: Format) -> tuple[int, ...]:
    """Codes of both signs: zero, smallest, around the smallest normal, one, largest, infinity, NaNs."""
    magnitudes = [0, fmt.smallest_code, fmt.max_code]
    normal = int(encode([fmt.smallest_normal], fmt, "rtz")[0])
    magnitudes += [normal, int(encode([1.0], fmt, "rtz")[0])]
    if normal > 1 and fmt.kind_of(normal - 1) is Kind.FINITE:
        magnitudes.append(normal - 1)
    magnitudes += [code for code in (fmt.inf_code(False), fmt.nan_code(False)) if code is not None]
    sign = 1 << (fmt.bits - 1)
    return tuple(sorted({code for m in magnitudes for code in (m, m ^ sign)}))


def _alignments(a: Format, b: Format, result: FixedFormat, rng: np.random.Generator) -> Triple:
    """Every exponent difference from far below to far above the product, with telling fractions of both signs."""
    p = result.fraction_bits
    full, half = (1 << p) - 1, 1 << (p - 1)
    fractions = [0, 1, 2, full, full - 1, half, half - 1, half + 1]
    fractions += [1 << int(bit) for bit in np.linspace(0, p - 1, 5)]
    grid = np.meshgrid(np.arange(-p - 12, p + 13), fractions, (0, 1), indexing="ij")
    difference, fraction, negative = (axis.reshape(-1) for axis in grid)
    x, y = (rng.choice(_finite(fmt), len(difference)) for fmt in (a, b))
    product = np.abs(decode(x, a).astype(np.float64) * decode(y, b).astype(np.float64))
    return x, y, addend(result, product, difference, fraction, negative)


def _cancellations(a: Format, b: Format, result: FixedFormat, rng: np.random.Generator) -> Triple:
    """The addend opposite to the product but for one bit, at every place, just above and just below."""
    places = np.repeat(np.arange(result.fraction_bits + 3), 12)
    x, y = (rng.choice(_finite(fmt), len(places)) for fmt in (a, b))
    product = decode(x, a).astype(np.float64) * decode(y, b).astype(np.float64)
    beside = np.exp2(-places) * rng.choice([-1.0, 0.0, 1.0], len(places), p=(0.45, 0.1, 0.45))
    return x, y, encode(-product * (1 + beside), result, "rtz", "inf").astype(np.uint32)


def _extremes(a: Format, b: Format, result: FixedFormat) -> Triple:
    """Smallest products with the smallest addends, largest with the largest, fractions walking, all signs."""
    fractions = walking_fractions(result)
    lowest = (np.arange(3)[:, None] << result.fraction_bits | fractions).reshape(-1)
    highest = result.max_code - (lowest & ~(1 << result.fraction_bits))
    parts = []
    for ends, addends in ((_lowest, lowest), (_highest, highest)):
        parts.append(_crossed(ends(a), ends(b)[:1], np.concatenate([addends, addends | result.sign_mask])))
    x, y, z = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return x, y, z


def _lowest(fmt: Format) -> list[int]:
    codes = [int(code) for code in fmt.ordered_magnitudes()[1:4]]
    return [codes[0], codes[1], codes[2], codes[0] | 1 << (fmt.bits - 1)]


def _highest(fmt: Format) -> list[int]:
    codes = [int(code) for code in fmt.ordered_magnitudes()[-3:]]
    return [codes[2], codes[1], codes[0], codes[2] | 1 << (fmt.bits - 1)]


def _operand_codes(a: Format, b: Format) -> Triple:
    """Every code of each operand beside one, and every pair of significands, all with a zero addend."""
    one_a, one_b = (int(encode([1.0], fmt, "rtz")[0]) for fmt in (a, b))
    near_a, near_b = (np.arange(one - one % 8, one - one % 8 + 8) for one in (one_a, one_b))
    parts = [
        _crossed(np.arange(1 << a.bits), one_b, 0),
        _crossed(one_a, np.arange(1 << b.bits), 0),
        _crossed(near_a, near_b, 0),
    ]
    x, y, z = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return x, y, z


def _addends(a: Format, b: Format, result: FixedFormat, number: int, pairs: int) -> Triple:
    """Walking addends at every exponent beside zero, one and the smallest product; the pairs of formats share them."""
    codes = walking_codes(result)
    some = codes[number::pairs] if pairs > 1 else codes
    zero, one, smallest = 0, *(int(encode([value], a, "rtz")[0]) for value in (1.0, a.smallest))
    partner = int(encode([1.0], b, "rtz")[0])
    return np.resize([zero, one, smallest], len(some)).astype(np.uint32), np.full(len(some), partner), some


@functools.lru_cache(maxsize=64)
def _finite(fmt: Format) -> NDArray[np.uint32]:
    return np.array([c for c in range(1 << fmt.bits) if fmt.kind_of(c) is Kind.FINITE], dtype=np.uint32)


# --- ports ----------------------------------------------------------------------------------------------------------


def _columns(unit: Dot, i: int, j: int, a: Codes, b: Codes, c: Codes, number: int) -> Inputs:
    """The ports of operations in given formats; biases walk through their range, and so do selects beyond the last."""
    count = len(c)
    columns: Inputs = {"c": np.asarray(c, dtype=np.uint32)}
    for operand, codes, index, formats in (("a", a, i, unit.a), ("b", b, j, unit.b)):
        for lane, name in enumerate(unit.lane_names(operand)):
            other = np.roll(codes, lane) * (np.arange(count) % 2)
            columns[name] = np.asarray(codes if lane == 0 else other, dtype=np.uint32)
        for port in unit.inputs:
            if port.name == f"{operand}_format":
                beyond = range(len(formats) - 1, 1 << port.width) if index == len(formats) - 1 else [index]
                columns[port.name] = np.resize(np.array(beyond, dtype=np.uint32), count)
            if port.name == f"{operand}_bias":
                columns[port.name] = cycled(port, count, offset=number)
    return {port.name: columns[port.name] for port in unit.inputs if port.name in columns}


def near_product(unit: Dot, columns: Inputs, rng: np.random.Generator) -> NDArray[np.uint32]:
    """Addends of drawn exponents near those of the first products."""
    result, count = fixed(unit.engine.result), len(columns["c"])
    difference = rng.integers(-result.fraction_bits - 3, 2 * result.fraction_bits, count)
    fraction = rng.integers(0, 1 << result.fraction_bits, count)
    with np.errstate(invalid="ignore"):  # infinity times zero; `addend` takes 1 in its place
        product = np.abs(_numbers(unit.a, columns, "a", unit) * _numbers(unit.b, columns, "b", unit))
    return addend(result, product, difference, fraction, rng.integers(0, 2, count))


def _numbers(formats: tuple[Format, ...], columns: Inputs, operand: str, unit: Dot) -> NDArray[np.float64]:
    """Operand values by the formats' default biases: near enough to place an addend."""
    codes = columns[unit.lane_names(operand)[0]]
    tables = np.stack([fmt.table for fmt in formats])
    chosen = columns.get(f"{operand}_format", np.zeros(len(codes), dtype=np.uint8))
    return tables[np.minimum(chosen, len(formats) - 1), codes]


def addend(
    result: FixedFormat, product: NDArray[np.float64], difference: Codes, fraction: Codes, negative: Codes
) -> NDArray[np.uint32]:
    """Codes whose exponent stands `difference` above the product's, kept within the fields of the result format."""
    finite = np.where(np.isfinite(product) & (product > 0), product, 1.0)
    field = np.floor(np.log2(finite)).astype(np.int64) + difference + result.bias
    field = np.clip(field, 0, (1 << result.exponent_bits) - 1)
    codes = np.where(negative, result.sign_mask, 0) | field << result.fraction_bits | fraction
    return np.asarray(codes, dtype=np.uint32)
