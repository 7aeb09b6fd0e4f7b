"""Corner operations of sums of products: where product and addend meet, cancel, tie, underflow and overflow.

Each family crosses what decides a sum (IBM FPgen's coverage models): the classes of all operands; every exponent
difference with telling fractions; every cancellation length; the smallest and the largest sums; every code of each
operand beside a plain partner; every addend exponent and every NaN.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casting import decode, encode
from fp9.formats import HFP8_BIASES, FixedFormat, Format, Kind, with_bias
from fp9.stimulus.columns import Inputs, concatenated, cycled, drawn_port, fixed, walking_codes, walking_fractions
from fp9.units import Dot, has_programmable_bias

DRAWN = 20_000
"""Drawn operations of a unit with several products."""

Codes = NDArray[Any]
Triple = tuple[Codes, Codes, Codes]
"""Codes of a, b and c, shape (n,) each."""


def sum_corner(unit: Dot, rng: np.random.Generator) -> Inputs:
    """Every family for every pair of formats, with some extra biases where these are ports, and every code under all.

    Further lanes carry zeros and operands of other operations in turn; drawn operations let all lanes meet.
    """
    result = fixed(unit.engine.output)
    pairs = [*_pairs(unit)]
    parts = []
    for number, (a, b) in enumerate(pairs):
        families = [
            _class_cross(a.format, b.format, result),
            _alignments(a.format, b.format, result, rng),
            _cancellations(a.format, b.format, result, rng),
            _extremes(a.format, b.format, result),
            _addends(a.format, b.format, result, number, len(pairs)),
        ]
        parts += [_columns(unit, a, b, *triple) for triple in families]
        parts.append(_columns(unit, replace(a, bias=None), replace(b, bias=None), *_operand_codes(a.format, b.format)))
    if unit.engine.products > 1:
        drawn = {port.name: drawn_port(port, DRAWN, rng) for port in unit.inputs if port.name in parts[0]}
        parts.append(drawn | {"c": near_product(unit, drawn, rng)})
    return concatenated(parts)


@dataclass(frozen=True)
class Operand:
    """What an operand's select ports say: the format by its index, and the extra bias; None walks through all."""

    format: Format
    index: int
    bias: int | None = None


def _pairs(unit: Dot) -> Iterator[tuple[Operand, Operand]]:
    """Operands of every pair of formats; with bias ports, of some pairs of extra biases, the extreme ones included."""
    for (i, a), (j, b) in itertools.product(enumerate(unit.a), enumerate(unit.b)):
        variants = ((_BIASES[k], _BIASES[3 * k % len(_BIASES)]) for k in range(len(_BIASES)))
        for bias_a, bias_b in variants if unit.bias_port else [(None, None)]:
            yield _operand(a, i, bias_a), _operand(b, j, bias_b)


_BIASES = (HFP8_BIASES.stop - 1, HFP8_BIASES.start, 4, -3, 0)


def _operand(fmt: Format, index: int, bias: int | None) -> Operand:
    if bias is None or not has_programmable_bias(fmt):
        return Operand(fmt, index)
    return Operand(with_bias(fmt, bias), index, bias)


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
    """The addend opposite to the product but for one bit, at every place, above and below; some of small products."""
    places = np.repeat(np.arange(result.fraction_bits + 3), 48)
    small = np.arange(len(places)) % 3 == 0
    x, y = (
        np.where(small, rng.choice(_lowest(f, 16), len(places)), rng.choice(_finite(f), len(places))) for f in (a, b)
    )
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
        signed = [*ends(a, 3), ends(a, 1)[0] | 1 << (a.bits - 1)]
        parts.append(_crossed(signed, ends(b, 1), np.concatenate([addends, addends | result.sign_mask])))
    x, y, z = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return x, y, z


def _lowest(fmt: Format, count: int) -> NDArray[np.uint32]:
    return fmt.ordered_magnitudes()[1 : count + 1]


def _highest(fmt: Format, count: int) -> NDArray[np.uint32]:
    return fmt.ordered_magnitudes()[-count:]


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


def _columns(unit: Dot, first: Operand, second: Operand, a: Codes, b: Codes, c: Codes) -> Inputs:
    """The ports of operations; a select port takes its values beyond the last choice, too, where they mean the last."""
    count = len(c)
    columns: Inputs = {"c": np.asarray(c, dtype=np.uint32)}
    for name, operand, codes, formats in (("a", first, a, unit.a), ("b", second, b, unit.b)):
        for lane, port_name in enumerate(unit.lane_names(name)):
            other = np.roll(codes, lane * (2 * count // 5 + 1)) * (np.arange(count) % 2)
            columns[port_name] = np.asarray(codes if lane == 0 else other, dtype=np.uint32)
        for port in unit.inputs:
            if port.name == f"{name}_format":
                last = operand.index == len(formats) - 1
                beyond = np.arange(operand.index, 1 << port.width if last else operand.index + 1)
                columns[port.name] = np.resize(beyond, count).astype(np.uint32)
            if port.name == f"{name}_bias":
                bias = cycled(port, count) if operand.bias is None else operand.bias & ((1 << port.width) - 1)
                columns[port.name] = np.broadcast_to(bias, count).astype(np.uint32)
    return {port.name: columns[port.name] for port in unit.inputs if port.name in columns}


def near_product(unit: Dot, columns: Inputs, rng: np.random.Generator) -> NDArray[np.uint32]:
    """Addends of drawn exponents near those of the first products."""
    result, count = fixed(unit.engine.output), len(columns["c"])
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
