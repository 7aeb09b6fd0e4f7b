"""Operations on chunks whose nonzero partial sum rounds to zero, so that the result is the addend.

Jamming sets the last bit of a term in the alignment window if lower bits of the term are discarded. With jamming, two
different small products of opposite sign can add up to zero after two large products cancel. For units without an
alignment window, small block scales move the sum below the normal range, where many sums round to zero.

    product      x x x x x |
    product    - x x x x x |
    product              1 | x x x
    product    -         1 |   x x x
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fp9.engines import Truncation
from fp9.suites.columns import Inputs, classes, fixed
from fp9.suites.sums.scale_columns import reach_of_scales, scaled, scales_of
from fp9.suites.sums.scaled import in_any_lanes
from fp9.suites.sums.several_products import by_exponent, of_exponent
from fp9.suites.sums.sum_corner import Operand, operand_pairs, ports
from fp9.units import Dot

# Number of operations for each pair of formats.
_COUNT = 500

# Number of integer bits of a product in the window. A significand is below 2, so a product is below 4.
_BEFORE = 2


def underflowed_chunk_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    engine = unit.engine
    if engine.steps_of_chunk != 1:
        return
    jams = engine.window.truncation is Truncation.JAM and unit.products > 3
    for a, b in operand_pairs(unit):
        exponents = by_exponent(a.format, b.format)[2]
        reach = exponents[-1] - exponents[0]
        if engine.window.width is not None and jams and reach >= engine.window.width + _BEFORE:
            yield _lost(unit, a, b, engine.window.width, rng)
        if engine.window.width is None and unit.scale is not None and unit.scale.precision == 1:
            yield _too_small(unit, a, b, rng)


def _lost(unit: Dot, a: Operand, b: Operand, window: int, rng: np.random.Generator) -> Inputs:
    # Two large products cancel, and two small ones are below the alignment window.
    formats, sign = (a.format, b.format), 1 << (a.format.bits - 1)
    exponents = by_exponent(*formats)[2]
    apart = window + _BEFORE
    large = rng.integers(exponents[0] + apart, exponents[-1] + 1, _COUNT)
    first, second = rng.integers(exponents[0], large - apart + 1, (2, _COUNT))
    codes = np.zeros((_COUNT, unit.products, 2), dtype=np.int64)
    codes[:, 0] = codes[:, 1] = np.stack(of_exponent(*formats, large, rng), axis=1)
    for lane, wanted in ((2, first), (3, second)):
        codes[:, lane] = np.stack(of_exponent(*formats, wanted, rng), axis=1)
    codes[:, [1, 3], 0] |= sign
    codes[:, :4, 0] ^= rng.choice([0, sign], (_COUNT, 2)).repeat(2, axis=1)
    codes = in_any_lanes(codes, rng)
    return scaled(unit, ports(unit, a, b, codes[..., 0], codes[..., 1], _addends(unit, rng)), rng)


def _too_small(unit: Dot, a: Operand, b: Operand, rng: np.random.Generator) -> Inputs:
    formats, result = (a.format, b.format), fixed(unit.engine.result.format)
    exponents, shape = by_exponent(*formats)[2], (_COUNT, unit.products)
    wanted = rng.integers(exponents[0], exponents[-1] + 1, shape)
    x, y = (codes.reshape(shape) for codes in of_exponent(*formats, wanted.reshape(-1), rng))
    x = np.where(rng.random(shape) < 1 / 2, 0, x | rng.choice([0, 1 << (a.format.bits - 1)], shape))
    below = result.min_normal_exponent - unit.products.bit_length() - rng.integers(1, 2 * result.precision, _COUNT)
    lowest, highest = reach_of_scales(unit)
    together = np.clip(below - wanted.max(axis=1), lowest, highest)
    columns = ports(unit, a, b, x, y, _addends(unit, rng)) | scales_of(unit, together, rng)
    return {port.name: columns[port.name] for port in unit.inputs}


def _addends(unit: Dot, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(classes(unit.engine.output), _COUNT).astype(np.uint32)


__all__ = ["underflowed_chunk_corner"]
