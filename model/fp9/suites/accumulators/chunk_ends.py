"""Corner-case operations of accumulators with chunks, such as sums across chunk boundaries."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from fp9.suites.accumulators.full_chunks import full_chunks
from fp9.suites.accumulators.long_chunks import Sequence, beside_specials, joined_long, onto_long
from fp9.suites.accumulators.product_table import ProductTable
from fp9.suites.columns import (
    Inputs,
    addend,
    chosen_formats,
    classes,
    concatenated,
    drawn_port,
    fixed,
    sign_bits,
)
from fp9.suites.sums.exact import smallest_factors
from fp9.suites.sums.scale_columns import drawn_scales
from fp9.units import Mac, MacOp, code_tables

GROUP = 4
"""Number of operations in an independent sequence, which begins with LOAD."""

# Operations that follow a completed chunk: a short chunk and then an empty chunk.
_BEHIND = (MacOp.ACCUMULATE, MacOp.ACCUMULATE, MacOp.FOLD, MacOp.FOLD)

# Number of sequences for each pair of successive operations.
_EVERY_PAIR = 16

# Number of chunks that sum the smallest products.
_SMALLEST = 1000

_CROSSED = 0.3

# Share of random products that cancel the previous product of a chunk, exactly or nearly.
_OPPOSITE = 0.25


def chunk_corner(unit: Mac, step: Inputs, rng: np.random.Generator) -> Inputs:
    """Return operation sequences that test corner cases of accumulator chunks.

    Many of the sequences take their operands from the columns of `step`, which holds single operations.
    """
    table = ProductTable(unit)
    parts = [_joined(unit, step, rng), _accumulated(unit, step, rng)]
    long = onto_long(unit, table, step, rng), joined_long(unit, table, rng)
    parts += [_groups(unit, *places, rng) for places in long]
    parts.append(_groups(unit, *beside_specials(unit, table, rng), rng, 2 * GROUP))
    parts += [*_class_cross(unit, rng), full_chunks(unit, GROUP), *_every_pair(unit, rng)]
    boundaries = _boundaries(unit, table, rng)
    return concatenated([*parts, _smallest(unit, rng), boundaries])


def _joined(unit: Mac, step: Inputs, rng: np.random.Generator) -> Inputs:
    first, second = ({name: column[half::2] for name, column in step.items()} for half in range(2))
    count = len(second["c"])
    first = {name: column[:count] for name, column in first.items()}
    places: Sequence = {0: (MacOp.LOAD, first), 1: (MacOp.FOLD, None), 2: (MacOp.LOAD, second), 3: (MacOp.FOLD, None)}
    return _groups(unit, places, count, rng)


def _accumulated(unit: Mac, step: Inputs, rng: np.random.Generator) -> Inputs:
    following = {name: np.roll(column, -1) for name, column in step.items()}
    opposite = _opposites(unit, step, rng)
    count = len(step["c"])
    meets = np.arange(count) % 2 == 0
    second = {name: np.where(meets, following[name], opposite.get(name, following[name])) for name in step}
    step, second = ({name: column[::3] for name, column in part.items()} for part in (step, second))
    places: Sequence = {0: (MacOp.LOAD, step), 1: (MacOp.ACCUMULATE, second), 2: (MacOp.FOLD, None)}
    return _groups(unit, places, len(step["c"]), rng)


def _class_cross(unit: Mac, rng: np.random.Generator) -> Iterator[Inputs]:
    zeros = {name: 0 for operand in ("a", "b") for name in unit.lane_names(operand)}
    first_a, first_b = unit.lane_names("a")[0], unit.lane_names("b")[0]
    for (i, a), (j, b) in itertools.product(enumerate(unit.a), enumerate(unit.b)):
        crossed = np.array(list(itertools.product(classes(a), classes(b))), dtype=np.uint32)
        formats = {name: k for name, k in (("a_format", i), ("b_format", j)) if len(getattr(unit, name[0])) > 1}
        for equal in zip(classes(a), classes(b), strict=False):
            codes = crossed[rng.random(len(crossed)) < _CROSSED]
            columns = {name: np.full(len(codes), value, np.uint32) for name, value in (zeros | formats).items()}
            alike = {first_a: np.full_like(codes[:, 0], equal[0]), first_b: np.full_like(codes[:, 0], equal[1])}
            second = columns | {first_a: codes[:, 0], first_b: codes[:, 1]}
            places: Sequence = {0: (MacOp.LOAD, columns | alike), 1: (MacOp.ACCUMULATE, second), 2: (MacOp.FOLD, None)}
            yield _groups(unit, places, len(codes), rng)


def _every_pair(unit: Mac, rng: np.random.Generator) -> Iterator[Inputs]:
    for first, second in itertools.product(unit.operations, repeat=2):
        operations = (MacOp.LOAD, first, second, MacOp.FOLD)
        yield _groups(unit, {place: (op, None) for place, op in enumerate(operations)}, _EVERY_PAIR, rng)


def _groups(unit: Mac, given: Sequence, count: int, rng: np.random.Generator, length: int = GROUP) -> Inputs:
    places = [random_chunks(unit, count, rng) for _ in range(length)]
    for place, (operation, columns) in given.items():
        places[place] |= {**(columns or {}), "op": np.full(count, operation, dtype=np.uint8)}
    return {port.name: np.stack([p[port.name] for p in places], axis=1).reshape(-1) for port in unit.inputs}


def _smallest(unit: Mac, rng: np.random.Generator) -> Inputs:
    # Some products nearly cancel, so that the sum of a chunk can be smaller than each of its products.
    nothing = {"c": np.zeros(_SMALLEST, dtype=np.uint32)}
    first, second, third = (smallest_factors(unit, _SMALLEST, rng) | nothing for _ in range(3))
    steps = (MacOp.LOAD, first), (MacOp.ACCUMULATE, second), (MacOp.ACCUMULATE, third), (MacOp.FOLD, None)
    return _groups(unit, dict(enumerate(steps)), _SMALLEST, rng)


def _boundaries(unit: Mac, table: ProductTable, rng: np.random.Generator) -> Inputs:
    # Operation codes above the code of FOLD also mean FOLD. All products are finite, because an infinity or NaN in the
    # accumulator would hide errors in later sums.
    sequences = []
    last = (1 << unit.inputs[0].width) - 1
    for number, ending in enumerate((MacOp.FOLD, MacOp.LOAD, MacOp.CLEAR, MacOp.HOLD, last)):
        for steps in range(number % 2, unit.chunk_steps + 2, 1 + (ending == last)):
            sum_up = [MacOp.LOAD, *[MacOp.ACCUMULATE] * steps]
            sequences += [*sum_up, ending, *_BEHIND]
    sequences = [MacOp.HOLD] * (-len(sequences) % GROUP) + sequences
    count, total = len(sequences), fixed(unit.engine.output)
    columns = random_chunks(unit, count, rng) | table.ordinary(count, rng)
    difference, fraction, negative = (rng.integers(0, n, count) for n in (4, 1 << total.fraction_bits, 2))
    c = addend(total, np.ones(count), difference, fraction, negative)
    return columns | {"op": np.array(sequences, dtype=np.uint8), "c": c}


def random_chunks(unit: Mac, count: int, rng: np.random.Generator) -> Inputs:
    """Return random operations, with sums that are longer than a chunk on average."""
    columns = {port.name: drawn_port(port, count, rng) for port in unit.inputs} | drawn_scales(unit, count, rng)
    for operand, formats in (("a", unit.a), ("b", unit.b)):
        chosen = chosen_formats(columns, operand, formats, count)
        special, small = ~np.isfinite(code_tables(formats)), (sign_bits(formats)[chosen] >> 1) - 1
        for lane in unit.lane_names(operand):
            # Infinities and NaN are rare, because a single infinity or NaN decides the whole sum.
            keep = rng.random(count) < 1 / (4 * unit.engine.step.products * unit.chunk_steps)
            codes = columns[lane]
            columns[lane] = np.where(special[chosen, codes] & ~keep, codes & small, codes)
    previous = {name: np.roll(column, 1) for name, column in columns.items()}
    repeated = rng.random(count) < _OPPOSITE
    for name, column in _opposites(unit, previous, rng).items():
        columns[name] = np.where(repeated, column, columns[name])
    ends = 1 / (4 * unit.chunk_steps)
    columns["op"] = rng.choice(len(unit.operations), count, p=(0.95 - 3 * ends, ends, ends, 0.05, ends)).astype(
        np.uint8
    )
    return columns


def _opposites(unit: Mac, columns: Inputs, rng: np.random.Generator) -> Inputs:
    # Some products differ in one of the three lowest bits, so that products do not cancel fully.
    sign = 1 << (unit.a[0].bits - 1)
    turned = {name: column for name, column in columns.items() if name[0] in "ab"}
    for lane in unit.lane_names("a"):
        codes = columns[lane]
        changed = np.where(rng.random(len(codes)) < 0.5, 1 << rng.integers(0, 3, len(codes)), 0)
        turned[lane] = codes ^ sign ^ changed.astype(codes.dtype)
    return turned


def last_groups(unit: Mac) -> int:
    return -(-(unit.chunk_steps + len(_BEHIND) + 2) // GROUP)


__all__ = ["GROUP", "chunk_corner", "last_groups", "random_chunks"]
