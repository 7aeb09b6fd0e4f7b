"""Corner operations of sums of products: where product and addend meet, cancel, tie, underflow and overflow.

Each family crosses what decides a sum (IBM FPgen's coverage models): the classes of all operands; every exponent
difference with telling fractions; every cancellation length; the smallest and the largest sums; every code of each
operand beside a plain partner; every addend exponent and every NaN.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casting import decode, encode
from fp9.formats import HFP8_BIASES, FixedFormat, Format, with_bias
from fp9.stimulus import lanes
from fp9.stimulus.columns import (
    Codes,
    Inputs,
    Triple,
    addend,
    classes,
    concatenated,
    cycled,
    drawn_port,
    finite,
    fixed,
    walking_codes,
    walking_fractions,
)
from fp9.units import Dot, has_programmable_bias

OPERATIONS = 20_000
"""About as many corner operations has a unit of one product; further lanes come on top."""

_NANS = 1500
"""About as many operations have a NaN as addend."""

_SHARES = {"classes": 0.16, "alignments": 0.22, "cancellations": 0.2, "extremes": 0.14, "addends": 0.28}
"""Share of each family, where it has more than that."""


def sum_corner(unit: Dot, rng: np.random.Generator, operations: int = OPERATIONS) -> Inputs:
    """Every family for every pair of formats, with some extra biases where these are ports, and every code under all.

    Families larger than their share are thinned evenly. Of several products one has the operands that a family means,
    each in turn; the families of module `lanes` let them meet.
    """
    result = fixed(unit.engine.output)
    pairs = [*_pairs(unit)]
    parts = []
    for number, (a, b) in enumerate(pairs):
        families = {
            "classes": _class_cross(a.format, b.format, result),
            "alignments": _alignments(a.format, b.format, result, rng),
            "cancellations": _cancellations(a.format, b.format, result, rng),
            "extremes": _extremes(a.format, b.format, result),
            "addends": _addends(a.format, b.format, result, number, len(pairs)),
        }
        nans = _nans(a.format, b.format, result, number, len(pairs))
        for name, triple in families.items():
            some = _thinned(triple, int(_SHARES[name] * operations / len(pairs)), rng)
            parts.append(ports(unit, a, b, *lanes.placed(unit.engine.products, a.format, b.format, some, rng)))
        parts.append(ports(unit, a, b, *lanes.placed(unit.engine.products, a.format, b.format, nans, rng)))
        codes = _operand_codes(a, b, len(unit.a), len(unit.b))
        every = replace(a, bias=None), replace(b, bias=None)
        parts.append(ports(unit, *every, *lanes.placed(unit.engine.products, a.format, b.format, codes, rng)))
        if unit.engine.products > 1:
            met = lanes.families(a.format, b.format, unit.engine, operations // (2 * len(pairs)), rng)
            parts += [ports(unit, a, b, *columns) for columns in met]
    return concatenated([*parts, _drawn(unit, operations // 8, [*parts[0]], rng)])


def _drawn(unit: Dot, count: int, names: list[str], rng: np.random.Generator) -> Inputs:
    """Drawn operations, half of them with the addend near the product."""
    columns = {port.name: drawn_port(port, count, rng) for port in unit.inputs if port.name in names}
    near = np.arange(count) % 2 == 0
    return columns | {"c": np.where(near, near_product(unit, columns, rng), columns["c"])}


def _thinned(triple: Triple, count: int, rng: np.random.Generator) -> Triple:
    """At most `count` operations, drawn, in their order."""
    kept = np.sort(rng.permutation(len(triple[2]))[:count])
    a, b, c = (column[kept] for column in triple)
    return a, b, c


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
    return _crossed(classes(a), classes(b), classes(result))


def _crossed(a: Any, b: Any, c: Any) -> Triple:
    grid = np.meshgrid(np.asarray(a), np.asarray(b), np.asarray(c), indexing="ij")
    x, y, z = (axis.reshape(-1).astype(np.uint32) for axis in grid)
    return x, y, z


def _alignments(a: Format, b: Format, result: FixedFormat, rng: np.random.Generator) -> Triple:
    """Every exponent difference from far below to far above the product, with telling fractions of both signs."""
    p = result.fraction_bits
    full, half = (1 << p) - 1, 1 << (p - 1)
    fractions = [0, 1, 2, full, full - 1, half, half - 1, half + 1]
    fractions += [1 << bit for bit in range(2, p - 1)]
    grid = np.meshgrid(np.arange(-p - 12, p + 13), fractions, (0, 1), indexing="ij")
    difference, fraction, negative = (axis.reshape(-1) for axis in grid)
    x, y = (rng.choice(finite(fmt), len(difference)) for fmt in (a, b))
    product = np.abs(decode(x, a).astype(np.float64) * decode(y, b).astype(np.float64))
    return x, y, addend(result, product, difference, fraction, negative)


def _cancellations(a: Format, b: Format, result: FixedFormat, rng: np.random.Generator) -> Triple:
    """The addend opposite to the product but for one bit, at every place, above and below; some of small products."""
    places = np.repeat(np.arange(result.fraction_bits + 3), 128)
    small = np.arange(len(places)) % 3 == 0
    x, y = (
        np.where(small, rng.choice(_lowest(f, 16), len(places)), rng.choice(finite(f), len(places))) for f in (a, b)
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


def _nans(a: Format, b: Format, result: FixedFormat, number: int, pairs: int) -> Triple:
    """NaN addends of walking payloads beside products of every class; the pairs of formats share them."""
    codes = walking_codes(result)
    nans = codes[(codes & result.magnitude_mask) > result.max_code][number::pairs]
    x, y, z = _crossed(classes(a), classes(b)[:: max(1, len(classes(b)) // 4)], nans)
    kept = slice(None, None, max(1, len(z) // max(len(nans), _NANS // pairs)))
    return x[kept], y[kept], z[kept]


def _operand_codes(a: Operand, b: Operand, formats_a: int, formats_b: int) -> Triple:
    """Every code of each operand beside one, and every pair of significands, all with a zero addend.

    The formats of the other operand share the codes of one.
    """
    one_a, one_b = (int(encode([1.0], operand.format, "rtz")[0]) for operand in (a, b))
    near_a, near_b = (np.arange(one - one % 8, one - one % 8 + 8) for one in (one_a, one_b))
    parts = [
        _crossed(np.arange(b.index, 1 << a.format.bits, formats_b), one_b, 0),
        _crossed(one_a, np.arange(a.index, 1 << b.format.bits, formats_a), 0),
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
    return np.resize([zero, one, smallest, zero | 1 << (a.bits - 1)], len(some)), np.full(len(some), partner), some


def wide_corner(fmt: FixedFormat, operations: int, rng: np.random.Generator) -> Triple:
    """The families of one product whose operands and addend have the same wide format, as many of each."""
    one = 1 << fmt.fraction_bits
    walking, place = walking_fractions(fmt), fmt.bias << fmt.fraction_bits
    x, y, _ = _crossed(place | walking, place | walking, 0)
    x, y = (codes + rng.integers(-8, 9, len(codes)) * one for codes in (x.astype(np.int64), y))
    product = decode(x, fmt).astype(np.float64) * decode(y, fmt).astype(np.float64)
    difference = rng.integers(-fmt.fraction_bits - 3, 2 * fmt.fraction_bits, len(x))
    near = addend(fmt, product, difference, rng.choice(walking, len(x)), rng.integers(0, 2, len(x)))
    u = rng.choice(finite(fmt), 2000)
    v, low = _ending(u, fmt, rng)
    codes = walking_codes(fmt)
    turned = [np.roll(codes, shift) for shift in (0, len(codes) // 3, len(codes) // 2)]
    families: list[Triple] = [
        _class_cross(fmt, fmt, fmt),
        _alignments(fmt, fmt, fmt, rng),
        _cancellations(fmt, fmt, fmt, rng),
        (x.astype(np.uint32), y.astype(np.uint32), near),
        (u, v, low),
        (rng.permutation(turned[0]), rng.permutation(turned[1]), rng.permutation(turned[2])),
    ]
    some = [_thinned(triple, operations // len(families), rng) for triple in families]
    a, b, c = (np.concatenate(columns) for columns in zip(*some, strict=True))
    return a, b, c


def _ending(x: Codes, fmt: FixedFormat, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Second factors whose products with x lie where the numbers end, and addends there too."""
    p, top = fmt.fraction_bits, fmt.max_code >> fmt.fraction_bits
    count = len(x)
    high = rng.integers(0, 2, count)
    field = np.where(high, top, 0) + rng.integers(-p - 4, 5, count)
    y = np.clip(field + fmt.bias - ((x & fmt.magnitude_mask) >> p), 0, top) << p
    c = np.clip(np.where(high, top, 0) + rng.integers(-3, 4, count), 0, top) << p
    fractions = rng.integers(0, 1 << p, (2, count))
    y, c = (np.minimum(codes | fraction, fmt.max_code) for codes, fraction in zip((y, c), fractions, strict=True))
    signs = rng.choice([0, fmt.sign_mask], (2, count))
    return (y | signs[0]).astype(np.uint32), (c | signs[1]).astype(np.uint32)


# --- ports ----------------------------------------------------------------------------------------------------------


def ports(unit: Dot, first: Operand, second: Operand, a: Codes, b: Codes, c: Codes) -> Inputs:
    """The ports of operations whose operands have shape (n, products); a select port takes its values beyond the last
    choice, too, where they mean the last."""
    count = len(c)
    columns: Inputs = {"c": np.asarray(c, dtype=np.uint32)}
    for name, operand, codes, formats in (("a", first, a, unit.a), ("b", second, b, unit.b)):
        columns |= {lane: codes[:, i].astype(np.uint32) for i, lane in enumerate(unit.lane_names(name))}
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
