"""Operations on accumulator chunks whose partial sum has a long significand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_to, encode
from fp9.formats import Format
from fp9.suites.accumulators.product_table import ProductTable
from fp9.suites.columns import Codes, Inputs, addend, beside_special, fixed, walking_fractions
from fp9.suites.sums.product_and_addend import nearly_opposite, to_boundaries
from fp9.units import Mac, MacOp

# Operations of a group: the position in the group, the operation and its columns.
Sequence = Mapping[int, tuple[MacOp, Inputs | None]]

# Number of sequences that add a chunk with a long significand to the total.
_JOINED = 5000


def onto_long(unit: Mac, table: ProductTable, step: Inputs, rng: np.random.Generator) -> tuple[Sequence, int]:
    """Return operation sequences and their number. Each sequence adds a product to a sum with a long significand."""
    corners = {name: column[::2] for name, column in step.items()}
    high, low = _summed(table, _numbers(corners["c"], unit.engine.addend_format), 2, rng)
    third = {name: column for name, column in corners.items() if name != "c"}
    count = len(corners["c"])
    places: Sequence = {
        0: (MacOp.LOAD, high | {"c": np.zeros(count, dtype=np.uint32)}),
        1: (MacOp.ACCUMULATE, low),
        2: (MacOp.ACCUMULATE, third),
        3: (MacOp.FOLD, None),
    }
    return places, count


def beside_specials(unit: Mac, table: ProductTable, rng: np.random.Generator) -> tuple[Sequence, int]:
    """Return operation sequences and their number. Each sequence adds zero to a sum that is close to a special code."""
    # The codes of the sums are one bit flip away from special codes.
    chunk = fixed(unit.engine.result.format)
    codes = np.repeat(beside_special(chunk), 8)
    codes = (codes | rng.choice([0, chunk.sign_mask], len(codes))).astype(np.uint32)
    first, *others = _summed(table, _numbers(codes, chunk), 4, rng)
    zeros, _ = table.at_most(np.zeros(len(codes)), rng)
    rows = [(MacOp.LOAD, first | {"c": np.zeros_like(codes)})]
    rows += [(MacOp.ACCUMULATE, columns) for columns in (*others, zeros)]
    return dict(enumerate([*rows, (MacOp.FOLD, None)])), len(codes)


def _summed(
    table: ProductTable, wanted: NDArray[np.float64], products: int, rng: np.random.Generator
) -> Iterator[Inputs]:
    for _ in range(products):
        columns, found = table.at_most(wanted, rng)
        yield columns
        wanted = np.subtract(wanted, found, out=np.zeros(len(wanted)), where=np.isfinite(wanted))


def _numbers(codes: Codes, fmt: Format) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = decode_to(codes.astype(fmt.dtype), fmt, np.float64)
    return numbers


def joined_long(unit: Mac, table: ProductTable, rng: np.random.Generator) -> tuple[Sequence, int]:
    """Return operation sequences and their number. Each sequence adds a chunk of two products to a total."""
    total = fixed(unit.engine.output)
    p = total.fraction_bits
    high = table.values[rng.integers(0, len(table.values), _JOINED)] * rng.choice([-1.0, 1.0], _JOINED)
    first, high = table.at_most(high, rng)
    distance = rng.integers(0, p + 3, _JOINED)
    second, low = table.at_most(high * np.exp2(-distance) * rng.choice([-1.0, 1.0], _JOINED), rng)
    chunk = fixed(unit.engine.result.format)
    sums = _numbers(encode(high + low, chunk, unit.engine.result.rounding.value), chunk)
    difference, negative = rng.integers(-p - 3, p + 13, _JOINED), rng.integers(0, 2, _JOINED)
    near = addend(total, np.abs(sums), difference, rng.choice(walking_fractions(total), _JOINED), negative)
    ways = [near, nearly_opposite(sums, total, rng), to_boundaries(sums, total, rng)]
    first |= {"c": np.choose(np.arange(_JOINED) % len(ways), ways).astype(np.uint32)}
    return {0: (MacOp.LOAD, first), 1: (MacOp.ACCUMULATE, second), 2: (MacOp.FOLD, None)}, _JOINED
