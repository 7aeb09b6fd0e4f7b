"""Coverage model of multipliers: operand classes, signs, rounding positions and results."""

# All products of two formats together determine the possible bins of the pair of formats.

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.formats import Format
from fp9.golden import evaluate
from fp9.golden.selects import chosen
from fp9.units import Columns, Mul, code_tables
from fp9_sim.coverage.model import (
    CLASSES,
    FLAGS,
    LAST_PLACES,
    POSITIONS,
    SIGNS,
    Bin,
    Cross,
    Facts,
    Group,
    Model,
    class_of,
    flags_of,
)

_CROSSES = {
    "classes": ("a", "b"),
    "rounding": ("position", "last place", "sign"),
    "outcome": ("result", "flags"),
}
_ORDER = (*CLASSES, *FLAGS, *SIGNS, *LAST_PLACES, *POSITIONS)


def mul_model(unit: Mul) -> Model:
    groups = tuple(_group(unit, pair) for pair in itertools.product(range(len(unit.a)), range(len(unit.b))))
    return Model(groups, lambda inputs, outputs: _facts(unit, inputs, outputs))


def _name(unit: Mul, pair: Sequence[int]) -> str:
    return f"{unit.a[pair[0]].name} x {unit.b[pair[1]].name}"


def _group(unit: Mul, pair: tuple[int, int]) -> Group:
    a, b = (grid.reshape(-1) for grid in np.meshgrid(*(np.arange(1 << f.bits) for f in _formats(unit, pair))))
    inputs = {"a": a, "b": b, "a_format": np.full(a.size, pair[0]), "b_format": np.full(a.size, pair[1])}
    every = [facts for _, facts in _distinct(unit, inputs, evaluate(unit, inputs))[0]]
    names = tuple(dict.fromkeys(itertools.chain(*_CROSSES.values())))
    points = {name: tuple(sorted({facts[name] for facts in every if name in facts}, key=_place)) for name in names}
    crosses = tuple(_cross(name, of, every) for name, of in _CROSSES.items() if all(points[point] for point in of))
    return Group(_name(unit, pair), {name: bins for name, bins in points.items() if bins}, crosses)


def _cross(name: str, points: tuple[str, ...], every: list[dict[str, Bin]]) -> Cross:
    occurring = {tuple(facts.get(point) for point in points) for facts in every}
    return Cross(name, points, lambda *bins: None if bins in occurring else "no product of the two formats")


def _place(name: Bin) -> int:
    return _ORDER.index(str(name))


def _formats(unit: Mul, pair: tuple[int, int]) -> tuple[Format, Format]:
    return unit.a[pair[0]], unit.b[pair[1]]


def _facts(unit: Mul, inputs: Columns, outputs: Columns) -> Iterator[Facts]:
    met, rows = _distinct(unit, inputs, outputs)
    return (met[row] for row in rows.tolist())


# The integers that describe an operation are from -1 to _VALUES - 2, so that a word of 64 bits holds all of them.
_VALUES = 64


def _distinct(unit: Mul, inputs: Columns, outputs: Columns) -> tuple[list[Facts], NDArray[np.int64]]:
    """Return the different facts of all operations, and the index of each operation's facts."""
    count = len(inputs["a"])
    sides = ("a", unit.a), ("b", unit.b)
    selects = [np.broadcast_to(chosen(inputs, f"{side}_format", len(formats)), count) for side, formats in sides]
    numbers, classes = zip(*(_read(inputs[s], f, i) for (s, f), i in zip(sides, selects, strict=True)), strict=True)
    with np.errstate(invalid="ignore"):
        products = numbers[0] * numbers[1]
    flags = outputs["flags"] if unit.flags else np.zeros(count, dtype=np.uint8)
    codes, places = np.unique(outputs["result"], return_inverse=True)
    results = np.array([CLASSES.index(class_of(code, unit.result)) for code in codes.tolist()])[places]
    columns = np.stack([*selects, *classes, results, flags, *_positions(unit, products)]).astype(np.int64)
    keys = functools.reduce(lambda key, column: key * _VALUES + column + 1, columns, np.zeros(count, np.int64))
    _, first, rows = np.unique(keys, return_index=True, return_inverse=True)
    return [_operation(unit, key) for key in columns[:, first].T.tolist()], rows


def _read(
    codes: NDArray[Any], formats: tuple[Format, ...], selects: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    tables = code_tables(formats)
    codes = codes & (tables.shape[1] - 1)
    classes = [
        [CLASSES.index(class_of(code & ((1 << fmt.bits) - 1), fmt)) for code in range(tables.shape[1])]
        for fmt in formats
    ]
    return tables[selects, codes], np.array(classes)[selects, codes]


def _positions(unit: Mul, products: NDArray[np.float64]) -> Iterator[NDArray[np.int64]]:
    # Sign, position between neighbouring results, and last bit of the lower result, for an unbounded exponent range.
    # The arrays hold -1 for zeros, infinities and NaN.
    fmt = unit.result
    counted = np.isfinite(products) & (products != 0)
    magnitudes = np.where(counted, np.abs(products), 1.0)
    exponents = np.maximum(np.frexp(magnitudes)[1].astype(np.int64) - 1, fmt.min_normal_exponent)
    places = np.ldexp(magnitudes, fmt.fraction_bits - exponents)
    rest = places % 1
    position = np.where(rest == 0, 0, np.where(rest < 0.5, 1, np.where(rest == 0.5, 2, 3)))
    for column in (np.signbit(products), position, places // 1 % 2):
        yield np.where(counted, column.astype(np.int64), -1)


def _operation(unit: Mul, key: list[int]) -> Facts:
    first, second, a, b, result, flags, sign, position, last = key
    facts: dict[str, Bin] = {"a": CLASSES[a], "b": CLASSES[b], "result": CLASSES[result]}
    if unit.flags:
        facts["flags"] = flags_of(flags)
    if sign >= 0:
        facts |= {"sign": SIGNS[sign], "position": POSITIONS[position], "last place": LAST_PLACES[last]}
    return _name(unit, (first, second)), facts
