"""Inputs for a unit's golden vectors: smoke, corner and random suites, made from the unit spec alone.

`corner` follows the coverage models of floating-point verification (IBM FPgen): every format against every format with
the operand classes crossed; every exponent difference between product and addend with both signs and fractions that
tie, stand just beside a tie, carry or cancel; for casts every number of the target, every midpoint and their neighbours
in the source, and walking bits at every source exponent.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casting import encode
from fp9.formats import HFP8_BIASES, FixedFormat, Format, Kind
from fp9.units import Cast, Decoder, Dot, Fma, Mac, MacOp, Port, Unit, has_programmable_bias

Inputs = dict[str, NDArray[Any]]

SUITES = ("smoke", "corner", "random")
SMOKE_COUNT = 400
RANDOM_COUNT = 10_000


def inputs_of(unit: Unit, suite: str, count: int | None, seed: int) -> Inputs:
    """Columns of a suite, shape (n,) each; the same arguments give the same columns.

    `count` is the number of random operations; a corner suite has the size that its cross products have.
    Raises ValueError for an unknown suite or a count below 1.
    """
    if suite not in SUITES:
        raise ValueError(f"unknown suite {suite!r}; choose one of {', '.join(SUITES)}")
    if count is not None and (count < 1 or suite == "corner"):
        raise ValueError(f"count {count} given for suite {suite}; give 1 or more, for smoke or random")
    rng = np.random.default_rng(seed)
    if suite == "corner":
        return corner(unit, rng)
    return random(unit, count or (SMOKE_COUNT if suite == "smoke" else RANDOM_COUNT), rng)


# --- random ---------------------------------------------------------------------------------------------------------


def random(unit: Unit, count: int, rng: np.random.Generator) -> Inputs:
    """Uniform bits on every port; half of an addend's exponents near the product's, where the sum is decided."""
    columns = {port.name: _random_port(unit, port, count, rng) for port in unit.inputs}
    if isinstance(unit, Dot):
        near = rng.random(count) < 0.5
        columns["c"] = np.where(near, _addend_near_product(unit, columns, rng), columns["c"])
    if isinstance(unit, Mac):
        columns["op"] = rng.choice(len(MacOp), count, p=(0.75, 0.15, 0.05, 0.05)).astype(np.uint8)
    return columns


def _random_port(unit: Unit, port: Port, count: int, rng: np.random.Generator) -> NDArray[Any]:
    if port.signed:
        biases = rng.integers(HFP8_BIASES.start, HFP8_BIASES.stop, count)
        return (biases & ((1 << port.width) - 1)).astype(np.uint8)
    high = len(port.choices) if port.choices else 1 << port.width
    return rng.integers(0, high, count, dtype=np.uint32)


def _addend_near_product(unit: Dot, columns: Inputs, rng: np.random.Generator) -> NDArray[np.uint32]:
    result = _fixed(unit.engine.result)
    difference = rng.integers(-result.fraction_bits - 3, 2 * result.fraction_bits, len(columns["a"]))
    fraction = rng.integers(0, 1 << result.fraction_bits, len(columns["a"]))
    return _addend(unit, columns, difference, fraction, rng.integers(0, 2, len(columns["a"])))


def _fixed(fmt: Format) -> FixedFormat:
    assert isinstance(fmt, FixedFormat), "results of engines have fields at fixed places"
    return fmt


def _addend(
    unit: Dot, columns: Inputs, difference: NDArray[Any], fraction: NDArray[Any], negative: NDArray[Any]
) -> NDArray[np.uint32]:
    """Addends whose exponent stands `difference` above the product's, kept within the result's fields."""
    result = _fixed(unit.engine.result)
    product = np.abs(_numbers(unit.a, columns, "a") * _numbers(unit.b, columns, "b"))
    finite = np.where(np.isfinite(product) & (product > 0), product, 1.0)
    top = (1 << result.exponent_bits) - 1
    field = np.clip(np.floor(np.log2(finite)).astype(np.int64) + difference + result.bias, 0, top)
    codes: NDArray[np.uint32] = (negative * result.sign_mask | field << result.fraction_bits | fraction).astype(
        np.uint32
    )
    return codes


def _numbers(formats: tuple[Format, ...], columns: Inputs, operand: str) -> NDArray[np.float64]:
    """Operand values by the formats' default biases: near enough to place an addend."""
    tables = np.stack([fmt.table for fmt in formats])
    chosen = columns.get(f"{operand}_format", np.zeros(len(columns[operand]), dtype=np.uint8))
    return np.nan_to_num(tables[chosen, columns[operand]], nan=1.0, posinf=1.0, neginf=1.0)


# --- corner ---------------------------------------------------------------------------------------------------------


@functools.singledispatch
def corner(unit: Unit, rng: np.random.Generator) -> Inputs:
    """The systematic suite of a unit's kind."""
    raise ValueError(f"no corner suite for units of kind {unit.kind}")


@corner.register
def _(unit: Decoder, rng: np.random.Generator) -> Inputs:
    """Every code of every format under every bias."""
    values = [range(1 << port.width) if port.name == "code" else _every(port) for port in unit.inputs]
    return _columns(unit, list(itertools.product(*values)))


def _every(port: Port) -> list[int]:
    if port.choices:
        return list(range(len(port.choices)))
    return [bias & ((1 << port.width) - 1) for bias in HFP8_BIASES]


def _columns(unit: Unit, rows: list[tuple[int, ...]]) -> Inputs:
    table = np.array(rows, dtype=np.uint32).reshape(-1, len(unit.inputs))
    return {port.name: table[:, i] for i, port in enumerate(unit.inputs)}


@corner.register
def _(unit: Cast, rng: np.random.Generator) -> Inputs:
    """Under every choice of the select ports: thresholds and specials of each target; under drawn ones: walks."""
    selects = [port for port in unit.inputs if port.choices]
    thresholds = np.unique(np.concatenate([_thresholds(unit.source, fmt) for fmt in unit.targets]))
    choices = np.array(list(itertools.product(*(range(len(port.choices)) for port in selects))), dtype=np.uint32)
    walking = _walking(_fixed(unit.source))
    drawn = rng.integers(0, max(len(choices), 1), len(walking))
    columns = {"x": np.concatenate([np.tile(thresholds, max(len(choices), 1)), walking])}
    for i, port in enumerate(selects):
        columns[port.name] = np.concatenate([np.repeat(choices[:, i], len(thresholds)), choices[drawn, i]])
    return columns


@functools.lru_cache(maxsize=64)
def _thresholds(source: Format, target: Format) -> NDArray[np.uint32]:
    """Source codes at, just below and just above every number of the target and every midpoint, of both signs."""
    numbers = np.array([target.to_float(int(code)) for code in target.ordered_magnitudes()])
    numbers = np.append(numbers, [2 * numbers[-1] - numbers[-2], 2 * numbers[-1]])
    points = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2])
    codes = encode(points, source, "rtz").astype(np.int64)
    fixed = _fixed(source)
    around = (codes[:, None] + np.array([-1, 0, 1])).reshape(-1)
    around = np.concatenate([around[around >= 0], _special_codes(fixed)])
    return np.unique(np.concatenate([around, around | fixed.sign_mask])).astype(np.uint32)


def _special_codes(fmt: FixedFormat) -> NDArray[np.int64]:
    top = fmt.max_code
    return np.array(
        [
            0,
            1,
            2,
            (1 << fmt.fraction_bits) - 1,
            1 << fmt.fraction_bits,
            top - 1,
            top,
            *range(top + 1, min(top + 3, fmt.magnitude_mask + 1)),
            fmt.magnitude_mask,
        ]
    )


def _walking(fmt: FixedFormat) -> NDArray[np.uint32]:
    """At every exponent: a walking one, a walking zero and masks of ones in the fraction, both signs."""
    ones = [1 << i for i in range(fmt.fraction_bits)]
    full = (1 << fmt.fraction_bits) - 1
    fractions = np.unique(
        [*ones, *(full ^ one for one in ones), *(one - 1 for one in ones), *(full ^ (one - 1) for one in ones)]
    )
    exponents = np.arange(1 << fmt.exponent_bits) << fmt.fraction_bits
    magnitudes = (exponents[:, None] | fractions).reshape(-1)
    return np.concatenate([magnitudes, magnitudes | fmt.sign_mask]).astype(np.uint32)


@corner.register
def _(unit: Fma, rng: np.random.Generator) -> Inputs:
    parts = [
        part
        for i, j in itertools.product(range(len(unit.a)), range(len(unit.b)))
        for part in (_class_cross(unit, i, j), _alignments(unit, i, j, rng))
    ]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {port.name: columns[port.name] for port in unit.inputs if port.name in columns}


@corner.register
def _(unit: Mac, rng: np.random.Generator) -> Inputs:
    """The fma's corners as LOAD, each followed by an operation on what it left behind."""
    step: Inputs = corner.dispatch(Fma)(unit, rng)
    count = len(step["a"])
    following = random(unit, count, rng)
    columns: Inputs = {"op": np.full(count, MacOp.LOAD, dtype=np.uint8), **step}
    return {name: np.stack([columns[name], following[name]], axis=1).reshape(-1) for name in following}


def _class_cross(unit: Fma, i: int, j: int) -> Inputs:
    """Every class of a with every class of b and of c."""
    addends = _classes(unit.engine.result)
    rows = np.array(list(itertools.product(_classes(unit.a[i]), _classes(unit.b[j]), addends)), dtype=np.uint32)
    return _operands(unit, i, j, rows[:, 0], rows[:, 1]) | {"c": rows[:, 2]}


@functools.lru_cache(maxsize=64)
def _classes(fmt: Format) -> tuple[int, ...]:
    """Codes of both signs: zero, smallest, around the smallest normal, one, largest, infinity, NaN."""
    magnitudes = [0, fmt.smallest_code, fmt.max_code]
    normal = int(encode([fmt.smallest_normal], fmt, "rtz")[0])
    magnitudes += [normal, int(encode([1.0], fmt, "rtz")[0])]
    if normal > 1 and fmt.kind_of(normal - 1) is Kind.FINITE:
        magnitudes.append(normal - 1)
    magnitudes += [code for code in (fmt.inf_code(False), fmt.nan_code(False)) if code is not None]
    sign = 1 << (fmt.bits - 1)
    return tuple(sorted({code for m in magnitudes for code in (m, m ^ sign)}))


def _alignments(unit: Fma, i: int, j: int, rng: np.random.Generator) -> Inputs:
    """Every exponent difference from far below to far above the product, with telling fractions of both signs."""
    result = _fixed(unit.engine.result)
    p = result.fraction_bits
    full, half = (1 << p) - 1, 1 << (p - 1)
    fractions = [0, 1, 2, full, full - 1, half, half - 1, half + 1]
    differences = range(-p - 12, p + 13)
    rows = np.array(list(itertools.product(differences, fractions, (0, 1))))
    a, b = (rng.choice(_finite(fmt), len(rows)) for fmt in (unit.a[i], unit.b[j]))
    columns = _operands(unit, i, j, a, b)
    return columns | {"c": _addend(unit, columns, rows[:, 0], rows[:, 1], rows[:, 2])}


@functools.lru_cache(maxsize=64)
def _finite(fmt: Format) -> NDArray[np.uint32]:
    return np.array([c for c in range(1 << fmt.bits) if fmt.kind_of(c) is Kind.FINITE], dtype=np.uint32)


def _operands(unit: Fma, i: int, j: int, a: NDArray[Any], b: NDArray[Any]) -> Inputs:
    """The ports of two operands in given formats; biases walk through their range."""
    columns: Inputs = {}
    for operand, codes, index, formats in (("a", a, i, unit.a), ("b", b, j, unit.b)):
        columns[operand] = codes
        if len(formats) > 1:
            columns[f"{operand}_format"] = np.full(len(codes), index, dtype=np.uint8)
        if unit.bias_port and any(has_programmable_bias(f) for f in formats):
            walk = np.arange(len(codes)) % len(HFP8_BIASES) + HFP8_BIASES.start
            port = next(port for port in unit.inputs if port.name == f"{operand}_bias")
            columns[port.name] = (walk & ((1 << port.width) - 1)).astype(np.uint8)
    return columns


__all__ = ["SUITES", "corner", "inputs_of", "random"]
