"""Corner-case operations of multipliers: operand classes and rounding boundaries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.formats import Format
from fp9.golden import evaluate
from fp9.suites.columns import Codes, Inputs, chosen_formats, classes, concatenated, one_of_each
from fp9.units import Mul, code_tables

# Number of products for each rounding class.
_EACH = 4


def product_corner(unit: Mul, rng: np.random.Generator) -> Inputs:
    # Each code of one operand is multiplied by a code of each class of the other operand, such as zero or NaN. A few
    # products are added for each rounding class.
    return concatenated(
        [columns for pair in np.ndindex(len(unit.a), len(unit.b)) for columns in _pair(unit, pair, rng)]
    )


def _pair(unit: Mul, pair: tuple[int, int], rng: np.random.Generator) -> Iterator[Inputs]:
    a, b = unit.a[pair[0]], unit.b[pair[1]]
    every_a, every_b = np.arange(1 << a.bits), np.arange(1 << b.bits)
    yield _columns(unit, pair, *np.meshgrid(every_a, classes(b)))
    yield _columns(unit, pair, *np.meshgrid(classes(a), every_b))
    x, y = (grid.reshape(-1) for grid in np.meshgrid(every_a, every_b))
    table_a, table_b = code_tables((a,))[0], code_tables((b,))[0]
    with np.errstate(invalid="ignore"):
        numbers = _rounding_class(table_a[x] * table_b[y], unit)
    for _ in range(_EACH):
        chosen = one_of_each(numbers, rng)
        yield _columns(unit, pair, x[chosen], y[chosen])


def _rounding_class(products: NDArray[np.float64], unit: Mul) -> NDArray[np.int64]:
    # Class from sign, exponent, last bit and distance to the nearest results. Special and zero products give 0.
    fmt = unit.result
    counted = np.isfinite(products) & (products != 0)
    magnitudes = np.where(counted, np.abs(products), 1.0)
    exponents = np.frexp(magnitudes)[1].astype(np.int64) - 1
    lowest = fmt.min_normal_exponent
    places = np.ldexp(magnitudes, fmt.fraction_bits - np.maximum(exponents, lowest))
    kept = np.floor(places)
    rest = places - kept
    position = np.sign(rest).astype(np.int64) * (2 + np.sign(rest - 0.5).astype(np.int64))
    number = 1 + (((exponents - exponents.min()) * 2 + (kept % 2).astype(np.int64)) * 4 + position) * 2
    return np.where(counted, number + np.signbit(products), 0)


def _columns(unit: Mul, pair: tuple[int, int], a: Codes, b: Codes) -> Inputs:
    columns: Inputs = {"a": a.reshape(-1).astype(np.uint8), "b": b.reshape(-1).astype(np.uint8)}
    for name, index in zip("ab", pair, strict=True):
        columns[f"{name}_format"] = np.full(a.size, index, dtype=np.uint8)
    return {port.name: columns[port.name] for port in unit.inputs}


def product_cover_points(unit: Mul, columns: Inputs) -> Iterator[NDArray[np.int64]]:
    outputs, count = evaluate(unit, columns), len(columns["a"])
    (index_a, class_a, a), (index_b, class_b, b) = (
        _factor(formats, columns[operand], chosen_formats(columns, operand, formats, count))
        for operand, formats in (("a", unit.a), ("b", unit.b))
    )
    with np.errstate(invalid="ignore"):
        products = a * b
    pair = index_a * len(unit.b) + index_b
    special = (class_a != _ORDINARY) & (class_b != _ORDINARY)
    yield 1 + pair * _CLASSES + class_a
    yield 1 + pair * _CLASSES + class_b
    yield np.where(special, 1 + class_a * _CLASSES + class_b, 0)
    flags = outputs["flags"].astype(np.int64) if unit.flags else 0
    kinds = np.isnan(products) * 4 + np.isinf(products) * 2 + (products == 0)
    yield 1 + (pair * 8 + kinds) * 32 + flags
    yield _rounding_class(products, unit)


_ORDINARY, _CLASSES = 0, 8


def _factor(
    formats: tuple[Format, ...], codes: NDArray[Any], chosen: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    index = np.broadcast_to(chosen, codes.shape).astype(np.int64)
    tables = code_tables(formats)
    numbers = tables[index, codes & (tables.shape[1] - 1)]
    normal, largest = (
        np.array(ends)[index] for ends in zip(*((f.smallest_normal, f.max) for f in formats), strict=True)
    )
    magnitudes = np.abs(numbers)
    classes = [np.isnan(numbers), np.isinf(numbers), numbers == 0, magnitudes == largest, magnitudes == normal]
    classes.append(magnitudes < normal)
    return index, np.select(classes, np.arange(1, len(classes) + 1), _ORDINARY), numbers
