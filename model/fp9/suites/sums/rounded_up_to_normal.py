"""Corner-case operations whose subnormal sum rounds up to the smallest normal number.

Each operation has two nonzero products. Power-of-two scales multiply the larger product of an operation, so that the
product becomes the smallest normal number. The smaller product has the opposite sign and a random exponent. The
exponents of the larger and the smaller product differ by at least the number of significand bits of a result. In most
operations, the addend is zero, and the sum of the two products rounds up to the smallest normal number.

    product     1 0 0 0 0 |
    product   -           |   x x
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fp9.suites.columns import Inputs, classes, fixed
from fp9.suites.sums.scale_columns import reach_of_scales, scales_of
from fp9.suites.sums.scaled import in_any_lanes, powers
from fp9.suites.sums.several_products import by_exponent, of_exponent
from fp9.suites.sums.sum_corner import Operand, operand_pairs, ports
from fp9.units import Dot

# Number of operations for each pair of formats.
_COUNT = 200


def rounded_up_to_normal_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    engine = unit.engine
    if engine.chunk.length or engine.window.width is not None or engine.result.flush:
        return
    if unit.scale is None or unit.scale.precision > 1 or unit.products == 1:
        return
    for a, b in operand_pairs(unit):
        exponents = by_exponent(a.format, b.format)[2]
        if exponents[-1] - exponents[0] > fixed(engine.result.format).precision:
            yield _reaching(unit, a, b, rng)


def _reaching(unit: Dot, a: Operand, b: Operand, rng: np.random.Generator) -> Inputs:
    formats, result = (a.format, b.format), fixed(unit.engine.result.format)
    exponents, (x, y, sizes) = by_exponent(*formats)[2], powers(*formats)
    far = sizes >= exponents[0] + result.precision
    place = rng.choice(np.flatnonzero(far), _COUNT)
    small = rng.integers(exponents[0], sizes[place] - result.precision + 1)
    lowest, highest = reach_of_scales(unit)
    codes = np.zeros((_COUNT, unit.products, 2), dtype=np.int64)
    codes[:, 0, 0], codes[:, 0, 1] = x[place], y[place]
    codes[:, 1] = np.stack(of_exponent(*formats, small, rng), axis=1)
    sign = 1 << (a.format.bits - 1)
    codes[:, :2, 0] ^= np.where(rng.integers(0, 2, _COUNT)[:, None], [sign, 0], [0, sign])
    codes = in_any_lanes(codes, rng)
    zero = [0, fixed(unit.engine.output).sign_mask]
    c = np.where(rng.random(_COUNT) < 3 / 4, rng.choice(zero, _COUNT), rng.choice(classes(unit.engine.output), _COUNT))
    columns = ports(unit, a, b, codes[..., 0], codes[..., 1], c.astype(np.uint32))
    together = np.clip(result.min_normal_exponent - sizes[place], lowest, highest)
    columns |= scales_of(unit, together, rng)
    return {port.name: columns[port.name] for port in unit.inputs if port.name in columns}


__all__ = ["rounded_up_to_normal_corner"]
