"""Corner-case stimulus for sums, as one column of values for each input port of the unit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import encode
from fp9.engines import Engine
from fp9.formats import HFP8_BIASES, Format, with_bias
from fp9.suites.columns import (
    Codes,
    Inputs,
    Triple,
    addend,
    concatenated,
    crossed_codes,
    cycled,
    drawn_port,
    fixed,
    walking_codes,
)
from fp9.suites.sums import product_and_addend, several_products
from fp9.suites.sums.product_and_addend import crossed
from fp9.suites.sums.scale_columns import scaled
from fp9.units import Dot, code_tables

OPERATIONS = 20_000
"""Approximate number of corner operations for a unit with one product and one pair of formats."""

# Approximate number of operations to add for each further pair of formats or extra biases.
_FURTHER = 3_000

# Approximate number of operations with a NaN addend.
_NANS = 1500


def sum_corner(unit: Dot, rng: np.random.Generator, part: float = 1.0) -> Inputs:
    """Return the corner cases for every pair of operand formats. `part` scales the number of operations."""
    pairs = [*operand_pairs(unit)]
    operations = int(part * (OPERATIONS + _FURTHER * (len(pairs) - 1)))
    share = operations // len(pairs)
    parts = []
    for number, (a, b) in enumerate(pairs):
        formats, products = (a.format, b.format), unit.products
        for triple in _families(unit, a, b, share, rng, number, len(pairs)):
            parts.append(ports(unit, a, b, *several_products.placed(products, *formats, triple, rng)))
        codes = _operand_codes(a, b, len(unit.a), len(unit.b))
        every = replace(a, bias=None), replace(b, bias=None)
        parts.append(ports(unit, *every, *several_products.placed(products, *formats, codes, rng)))
        if products > 1:
            met = [
                *several_products.families(*formats, _at_once(unit), fixed(unit.engine.output), share // 2, rng),
                _lowest(unit, a, b, share // 20, rng),
            ]
            met.append(_scattered(unit, a, b, share // 10, rng))
            parts += [ports(unit, a, b, *columns) for columns in met]
        parts += [ports(unit, a, b, *columns) for columns in _further(unit, a, b, share // 10, rng.spawn(1)[0])]
    columns = concatenated([*parts, _drawn(unit, operations // 8, [*parts[0]], rng)])
    return scaled(unit, columns | {"c": _below(unit, columns["c"], rng)}, rng)


def _at_once(unit: Dot) -> Engine:
    if unit.products == unit.engine.step.products:
        return unit.engine
    return unit.engine.within_chunk.changed(products=unit.products)


def _families(
    unit: Dot, a: Operand, b: Operand, count: int, rng: np.random.Generator, number: int, pairs: int
) -> Iterator[Triple]:
    formats = a.format, b.format, fixed(unit.engine.output)
    for family, share in product_and_addend.SHARES.items():
        yield family(*formats, int(share * count), rng)
    yield product_and_addend.addends(*formats, int(product_and_addend.ADDENDS_SHARE * count), rng, number, pairs)
    yield product_and_addend.nans(*formats, _NANS, number, pairs)


def _lowest(unit: Dot, a: Operand, b: Operand, count: int, rng: np.random.Generator) -> Triple:
    result, shape = fixed(unit.engine.output), (count, unit.products)
    x, y = (rng.choice(fmt.ordered_magnitudes()[1:16], shape) for fmt in (a.format, b.format))
    c = np.where(rng.random(count) < 0.5, 0, rng.choice(walking_codes(result)[: 1 << 6], count))
    return x | rng.choice([0, 1 << (a.format.bits - 1)], shape), y, c | rng.choice([0, result.sign_mask], count)


def _scattered(unit: Dot, a: Operand, b: Operand, count: int, rng: np.random.Generator) -> Triple:
    products, sign = unit.products, 1 << (a.format.bits - 1)
    exponents = several_products.by_exponent(a.format, b.format)[2]
    wanted = rng.integers(exponents[0], exponents[-1] + 1, count * products)
    x, y = (codes.reshape(count, products) for codes in several_products.of_exponent(a.format, b.format, wanted, rng))
    return x | rng.choice([0, sign], x.shape), y, rng.integers(0, 1 << unit.engine.output.bits, count)


def _further(unit: Dot, a: Operand, b: Operand, count: int, rng: np.random.Generator) -> Iterator[Triple]:
    products, formats, result = unit.products, (a.format, b.format), fixed(unit.engine.output)
    if (specials := product_and_addend.special_cross(*formats, result))[0].size:
        yield several_products.placed(products, *formats, specials, rng)
    for family in (product_and_addend.echoes, product_and_addend.results_beside_specials):
        yield several_products.placed(products, *formats, family(*formats, result, count, rng), rng)
    if products > 1:
        x, y = np.zeros((2, count, products), dtype=np.int64)
        rows, first = np.arange(count), rng.integers(0, products, count)
        second = (first + rng.integers(1, products, count)) % products
        factors_a, factors_b, sizes = product_and_addend.by_size(*formats)
        high = rng.integers(0, len(sizes), count)
        low = np.searchsorted(sizes, sizes[high] * np.exp2(-rng.integers(0, 48, count)))
        negative = rng.integers(0, 2, count)
        for lane, place, sign in ((first, high, negative), (second, low, 1 - negative)):
            x[rows, lane] = factors_a[place] | sign << (a.format.bits - 1)
            y[rows, lane] = factors_b[place]
        yield x, y, rng.integers(0, 1 << result.bits, count)


def _below(unit: Dot, c: Codes, rng: np.random.Generator) -> Codes:
    # An addend has bits below the result's last bit only if its format is wider than the result format.
    if unit.engine.addend_format == unit.engine.output:
        return c
    below = (1 << fixed(unit.engine.output).padding) - 1
    drawn = rng.integers(0, below + 1, len(c), dtype=np.uint32)
    bits = np.choose(rng.integers(0, 4, len(c)), [0, 0, drawn, below])
    return np.asarray(c & ~np.uint32(below) | bits, dtype=np.uint32)


def _drawn(unit: Dot, count: int, names: list[str], rng: np.random.Generator) -> Inputs:
    columns = {port.name: drawn_port(port, count, rng) for port in unit.inputs if port.name in names}
    near = np.arange(count) % 2 == 0
    return columns | {"c": np.where(near, near_product(unit, columns, rng), columns["c"])}


@dataclass(frozen=True)
class Operand:
    """Operand format, the value of the select port for this format, and an extra exponent bias.

    If the bias is None, the operations cycle through all biases.
    """

    format: Format
    index: int
    bias: int | None = None


def operand_pairs(unit: Dot) -> Iterator[tuple[Operand, Operand]]:
    """Yield every pair of operand formats, with several biases if the unit has bias ports."""
    for (i, a), (j, b) in itertools.product(enumerate(unit.a), enumerate(unit.b)):
        variants = ((_BIASES[k], _BIASES[3 * k % len(_BIASES)]) for k in range(len(_BIASES)))
        for bias_a, bias_b in variants if unit.bias_port else [(None, None)]:
            yield _operand(a, i, bias_a), _operand(b, j, bias_b)


_BIASES = (HFP8_BIASES.stop - 1, HFP8_BIASES.start, 4, -3, 0)


def _operand(fmt: Format, index: int, bias: int | None) -> Operand:
    if bias is None or not fmt.programmable_bias:
        return Operand(fmt, index)
    return Operand(with_bias(fmt, bias), index, bias)


def _operand_codes(a: Operand, b: Operand, formats_a: int, formats_b: int) -> Triple:
    one_a, one_b = (int(encode([1.0], operand.format, "rtz")[0]) for operand in (a, b))
    near_a, near_b = (np.arange(one - one % 8, one - one % 8 + 8) for one in (one_a, one_b))
    parts = [
        crossed(crossed_codes(a.format)[b.index :: formats_b], one_b, 0),
        crossed(one_a, crossed_codes(b.format)[a.index :: formats_a], 0),
        crossed(near_a, near_b, 0),
    ]
    x, y, z = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return x, y, z


# --- ports ----------------------------------------------------------------------------------------------------------


def ports(unit: Dot, first: Operand, second: Operand, a: Codes, b: Codes, c: Codes) -> Inputs:
    """Return a column of codes for each input port.

    The factors have the shape (n, products), and the addends have the shape (n,).
    """
    count = len(c)
    columns: Inputs = {"c": np.asarray(c, dtype=np.uint32)}
    for name, operand, codes, formats in (("a", first, a, unit.a), ("b", second, b, unit.b)):
        columns |= {lane: codes[:, i].astype(np.uint32) for i, lane in enumerate(unit.lane_names(name))}
        for port in unit.inputs:
            if port.name == f"{name}_format":
                # Select values beyond the last choice select the last choice.
                last = operand.index == len(formats) - 1
                beyond = np.arange(operand.index, 1 << port.width if last else operand.index + 1)
                columns[port.name] = np.resize(beyond, count).astype(np.uint32)
            if port.name == f"{name}_bias":
                bias = cycled(port, count) if operand.bias is None else operand.bias & ((1 << port.width) - 1)
                columns[port.name] = np.broadcast_to(bias, count).astype(np.uint32)
    return {port.name: columns[port.name] for port in unit.inputs if port.name in columns}


def near_product(unit: Dot, columns: Inputs, rng: np.random.Generator) -> NDArray[np.uint32]:
    """Return random addends with exponents near the exponent of the first product."""
    result, count = fixed(unit.engine.output), len(columns["c"])
    difference = rng.integers(-result.fraction_bits - 3, 2 * result.fraction_bits, count)
    fraction = rng.integers(0, 1 << result.fraction_bits, count)
    with np.errstate(invalid="ignore"):  # infinity times zero, for which `addend` uses 1
        product = np.abs(_numbers(unit.a, columns, "a", unit) * _numbers(unit.b, columns, "b", unit))
    return addend(result, product, difference, fraction, rng.integers(0, 2, count))


def _numbers(formats: tuple[Format, ...], columns: Inputs, operand: str, unit: Dot) -> NDArray[np.float64]:
    # Extra biases are ignored, because the values only estimate exponents.
    codes = columns[unit.lane_names(operand)[0]]
    tables = code_tables(formats)
    chosen = columns.get(f"{operand}_format", np.zeros(len(codes), dtype=np.uint8))
    return tables[np.minimum(chosen, len(formats) - 1), codes]
