"""Corner-case and random operations of the multi-format FPU (unit `multi_fpu`)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fp9.formats import Format
from fp9.suites.columns import Inputs, concatenated, drawn_port
from fp9.suites.fpu_operands import Formats, general
from fp9.suites.fpu_sums import below_normal, cancelling, carries_across, close, reaches_below_normal, with_carry
from fp9.units import SCALE_BITS, MultiFpu, MultiFpuOp, Port
from fp9.units.multi_fpu import DOTS, NARROW_BITS, PRODUCTS, SINGLES

# Maximum number of format combinations per operation in the corner suite.
BLOCKS = 40

# The same for results just below the smallest normal number.
_BLOCKS_BELOW_NORMAL = 16

# The same for sums with long carries, and for sums with one low bit.
_BLOCKS_OF_CARRIES = 32

# The same for sums whose formats are mostly wide: sums near a rounding boundary, sums of a product and an addend with
# close exponents, and sums with cancellation.
_BLOCKS_OF_WIDE, _BLOCKS_OF_CLOSE, _BLOCKS_OF_CANCELLATION = 32, 24, 32

# Share of these sums' formats that have more than 8 bits. Only wide formats use the upper bits of a significand, and a
# sum has four formats, so few sums with random formats are wide.
_SHARE_WIDE = 0.75

# Number of operations in a block, which have the same operation code and the same formats.
ROWS = 24

_SHARE_UNBOXED = 1 / 16
_SUMS = tuple(op for op in PRODUCTS if op not in SINGLES)
_SCALES = (0, 0, 1, -1, 7, -7, 24, -24, 127, -128)

# Indices of the formats that the format ports select in each block.
_Selections = Iterator[Sequence[int]]

# Function that returns the operand codes of all rows.
_Operands = Callable[
    [MultiFpu, MultiFpuOp, dict[str, Formats], NDArray[np.int64], np.random.Generator], dict[str, NDArray[np.uint32]]
]


def multi_corner(unit: MultiFpu, rng: np.random.Generator) -> Inputs:
    whole = _in_one_lane(unit, rng)
    if not unit.lane_widths:
        return whole
    lanes = [_in_lanes(unit, width, value, rng) for value, width in enumerate(unit.lane_widths, 1)]
    return concatenated([whole | {"vector": np.zeros_like(whole["vector"])}, *lanes])


def multi_random(unit: MultiFpu, count: int, rng: np.random.Generator) -> Inputs:
    drawn = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    corner = multi_corner(unit, rng)
    rows = rng.integers(0, len(corner["a"]), count)
    taken = rng.random(count) < 0.5
    return {name: np.where(taken, corner[name][rows], column) for name, column in drawn.items()}


def _in_one_lane(unit: MultiFpu, rng: np.random.Generator) -> Inputs:
    everywhere = _blocks(unit, rng, BLOCKS, lambda op, formats: True, general)
    below = [
        block
        for operands in (below_normal, functools.partial(below_normal, shortest=True))
        for block in _blocks(unit, rng.spawn(1)[0], _BLOCKS_BELOW_NORMAL, reaches_below_normal, operands)
    ]
    carries = _blocks(unit, rng.spawn(1)[0], _BLOCKS_OF_CARRIES, carries_across, with_carry, _mostly_wide)
    sums = [
        block
        for blocks, operands in (
            (_BLOCKS_OF_WIDE, general),
            (_BLOCKS_OF_CLOSE, close),
            (_BLOCKS_OF_CANCELLATION, cancelling),
        )
        for block in _blocks(unit, rng.spawn(1)[0], blocks, lambda op, formats: op in _SUMS, operands, _mostly_wide)
    ]
    converted = _blocks(
        unit, rng.spawn(1)[0], BLOCKS, lambda op, formats: op is MultiFpuOp.CONVERT, general, _mostly_wide
    )
    return concatenated([*everywhere, *below, *carries, *sums, *converted])


def _in_lanes(unit: MultiFpu, width: int, vector: int, rng: np.random.Generator) -> Inputs:
    lane = _in_one_lane(unit.lane_units[width], rng)
    count = len(lane["a"])
    columns = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    columns |= {name: column for name, column in lane.items() if name in columns}
    columns |= {name: _carries(unit, count, rng) for name in unit.random_ports}
    columns["vector"] = np.full(count, vector, np.uint32)
    for name in unit.lane_units[width].operands:
        lanes = range(unit.word // width)
        rolled = [np.roll(lane[name], number).astype(np.uint32) << width * number for number in lanes]
        columns[name] = functools.reduce(np.bitwise_or, rolled)
    return columns


def _selecting(port: Port, values: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint32]:
    # Unused select values select the last choice.
    ends = np.where(values == len(port.choices) - 1, 1 << port.width, values + 1)
    return rng.integers(values, ends).astype(np.uint32)


def _selections(unit: MultiFpu, rng: np.random.Generator) -> _Selections:
    combinations = list(itertools.product(range(len(unit.formats)), repeat=len(_format_ports(unit))))
    return (combinations[place] for place in rng.permutation(len(combinations)))


def _mostly_wide(unit: MultiFpu, rng: np.random.Generator) -> _Selections:
    wide = [index for index, fmt in enumerate(unit.formats) if fmt.bits > NARROW_BITS]
    if not wide:
        return _selections(unit, rng)
    shape = BLOCKS, len(_format_ports(unit))
    every = rng.integers(0, len(unit.formats), shape)
    return iter(np.where(rng.random(shape) < _SHARE_WIDE, rng.choice(wide, shape), every).tolist())


def _format_ports(unit: MultiFpu) -> list[str]:
    return list(dict.fromkeys(unit.format_port(name) for name in (*unit.operands, "result")))


def _blocks(
    unit: MultiFpu,
    rng: np.random.Generator,
    blocks: int,
    suits: Callable[[MultiFpuOp, dict[str, Format]], bool],
    operands: _Operands,
    selections: Callable[[MultiFpu, np.random.Generator], _Selections] = _selections,
) -> Iterator[Inputs]:
    ports = _format_ports(unit)
    places = {name: ports.index(unit.format_port(name)) for name in (*unit.operands, "result")}
    for index, op in enumerate(unit.operations):
        suited = (
            selected
            for selected in selections(unit, rng)
            if suits(op, {name: unit.formats[selected[place]] for name, place in places.items()})
        )
        found = list(itertools.islice(suited, blocks))
        if found:
            selected = np.repeat(np.array(found), ROWS, axis=0)
            yield _rows(unit, op, index, dict(zip(ports, selected.T, strict=True)), operands, rng)


def _rows(
    unit: MultiFpu,
    op: MultiFpuOp,
    index: int,
    selected: dict[str, NDArray[np.int64]],
    operands: _Operands,
    rng: np.random.Generator,
) -> Inputs:
    count = len(selected[unit.format_port("result")])
    formats = {name: Formats(unit.formats, selected[unit.format_port(name)]) for name in (*unit.operands, "result")}
    columns = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    columns |= {name: _carries(unit, count, rng) for name in unit.random_ports}
    chosen = {"op": np.full(count, index), **selected}
    columns |= {port.name: _selecting(port, chosen[port.name], rng) for port in unit.inputs if port.name in chosen}
    scales = np.zeros(count, np.int64)
    if op is MultiFpuOp.CONVERT and unit.scale:
        scales = rng.choice(_SCALES, count)
        columns["scale"] = (scales & ((1 << SCALE_BITS) - 1)).astype(np.uint32)
    codes = operands(unit, op, formats, scales, rng)
    boxed = {name: fmt for name, fmt in formats.items() if name in codes and not _is_packed(op, name)}
    return columns | codes | _boxed(unit, boxed, {name: codes[name] for name in boxed}, rng)


def _carries(unit: MultiFpu, rows: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    # Half of the random numbers just carry or just do not carry from a fraction of 0, 1/4, 1/2 or 3/4 ulp.
    limits = (np.arange(5) << unit.random_bits >> 2)[rng.integers(0, 5, rows)] - rng.integers(0, 2, rows)
    drawn = rng.integers(0, 1 << unit.random_bits, rows)
    return np.where(rng.random(rows) < 1 / 2, np.clip(limits, 0, (1 << unit.random_bits) - 1), drawn).astype(np.uint32)


def _is_packed(op: MultiFpuOp, operand: str) -> bool:
    return (op is MultiFpuOp.FROM_INTEGER and operand == "a") or (op in DOTS and operand in "ab")


def _boxed(
    unit: MultiFpu, formats: dict[str, Formats], codes: dict[str, NDArray[np.uint32]], rng: np.random.Generator
) -> Inputs:
    # A few operations have random bits above the operand code although the unit expects NaN boxing.
    columns = {}
    for name, column in codes.items():
        above = (1 << unit.word) - (1 << formats[name].bits)
        drawn = rng.integers(0, 1 << unit.word, len(column)) & above
        boxed = unit.nan_boxing & (rng.random(len(column)) >= _SHARE_UNBOXED)
        columns[name] = (column | np.where(boxed, above, drawn)).astype(np.uint32)
    return columns
