"""Corner-case operations in which a faulty circuit could cancel an infinity with a finite product.

A circuit may add an infinity as if it were the power of two above the largest number. If a circuit adds an infinity as
a power of two, a finite product of the opposite sign can cancel the infinity. If a finite product cancels an infinite
product in the internal sum, the circuit may wrongly give a zero result.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import encode
from fp9.formats import Format, floor_log2, pow2
from fp9.suites.columns import Inputs, classes
from fp9.suites.sums.scale_columns import scaled
from fp9.suites.sums.sum_corner import Operand, operand_pairs, ports
from fp9.units import Dot

_COUNT = 200


def cancelled_infinity_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    if unit.engine.steps_of_chunk != 1 or unit.products == 1:
        return
    for pair in operand_pairs(unit):
        for place, operand in enumerate(pair):
            infinity = operand.format.inf_code(False)
            if infinity is not None and len(_doubled(pair[1 - place].format)[0]):
                yield scaled(unit, _cancelled(unit, pair, place, infinity, rng), rng)


def _cancelled(unit: Dot, pair: tuple[Operand, Operand], place: int, infinity: int, rng: np.random.Generator) -> Inputs:
    # The infinite product is infinity times a finite number y. The finite product is -2y times the largest power of
    # two. `place` tells which operand is infinite: 0 for `a`, 1 for `b`.
    infinite, (once, twice) = pair[place].format, _doubled(pair[1 - place].format)
    shape, rows, sign = (_COUNT, unit.products), np.arange(_COUNT), 1 << (infinite.bits - 1)
    factors = np.zeros((2, *shape), dtype=np.int64)
    factors[place] |= rng.choice([0, sign], shape)
    chosen, negative = rng.integers(0, len(once), _COUNT), rng.choice([0, sign], _COUNT)
    first = rng.integers(0, unit.products, _COUNT)
    second = (first + rng.integers(1, unit.products, _COUNT)) % unit.products
    below = infinite.code_of(pow2(floor_log2(infinite.max_magnitude)))
    for lane, magnitude, finite in ((first, infinity | negative, once), (second, below | negative ^ sign, twice)):
        factors[place][rows, lane], factors[1 - place][rows, lane] = magnitude, finite[chosen]
    return ports(unit, *pair, factors[0], factors[1], rng.choice(classes(unit.engine.output), _COUNT))


def _doubled(fmt: Format) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    numbers = fmt.ordered_magnitudes()[1:].astype(np.int64)
    doubles = encode(2 * fmt.table[numbers], fmt, "rtz", "saturate").astype(np.int64)
    exact = fmt.table[doubles] == 2 * fmt.table[numbers]
    return numbers[exact], doubles[exact]


__all__ = ["cancelled_infinity_corner"]
