"""Corner-case operations with several scaled blocks, in which the addend cancels the sum of one block.

one block    x x x x x x
another                          x x x
addend      -x x x x x x
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode, encode
from fp9.formats import Format
from fp9.suites.columns import Inputs, fixed
from fp9.suites.sums.product_and_addend import product
from fp9.suites.sums.scaled import on_ports
from fp9.suites.sums.several_products import by_exponent
from fp9.units import Dot

# Number of operations for each pair of formats.
_COUNT = 3000

_FEW, _SOME = 3, 16


def second_block_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    if unit.scale is not None and unit.products > unit.products_of_scales:
        pairs = itertools.product(range(len(unit.a)), range(len(unit.b)))
        yield from (_apart(unit, *pair, rng) for pair in pairs)


def _apart(unit: Dot, first: int, second: int, rng: np.random.Generator) -> Inputs:
    # If the scales allow, the exponents of the two block sums differ by a random number of bits.
    assert unit.scale is not None
    formats, rows, numbers = (unit.a[first], unit.b[second]), np.arange(_COUNT), unit.scale.ordered_magnitudes()[1:]
    width, blocks = unit.products_of_scales, unit.products // unit.products_of_scales
    taken = rng.integers(0, blocks, _COUNT)
    left = (taken + rng.integers(1, blocks, _COUNT)) % blocks
    factors = np.zeros((2, _COUNT, blocks, width), dtype=np.int64)
    for block in (taken, left):
        factors[:, rows, block] = _few(formats, width, rng)
    sums = product(factors[0], factors[1], *formats).sum(axis=2)
    some = rng.choice(numbers, (2, _COUNT, blocks, _SOME))
    sizes = decode(some.astype(np.uint8), unit.scale).astype(np.float64).prod(axis=0) * sums[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):  # products that cancel
        exponents = np.log2(np.abs(sizes))
        apart = exponents[rows, taken][:, :, None] - exponents[rows, left][:, None, :]
    wanted = rng.integers(0, _reach(unit) + 1, (_COUNT, 1, 1))
    nearest = np.argmin(np.abs(apart - wanted).reshape(_COUNT, -1), axis=1)
    chosen = np.zeros((_COUNT, blocks), dtype=np.int64)
    chosen[rows, taken], chosen[rows, left] = np.divmod(nearest, _SOME)
    scales = np.take_along_axis(some, chosen[None, ..., None], axis=-1)[..., 0]
    amounts = sizes[rows, taken, chosen[rows, taken]]
    columns = {"c": encode(-amounts, fixed(unit.engine.output), "rtz").astype(np.uint32)}
    for operand, codes in zip("ab", scales, strict=True):
        columns |= {name: codes[:, block].astype(np.uint32) for block, name in enumerate(unit.scale_names(operand))}
    a, b = factors.reshape(2, _COUNT, unit.products)
    return on_ports(unit, (first, second), a, b, columns)


def _few(formats: tuple[Format, Format], width: int, rng: np.random.Generator) -> NDArray[np.int64]:
    x, y, _ = by_exponent(*formats)
    some = rng.integers(0, len(x), (_COUNT, width))
    order = rng.permuted(np.broadcast_to(np.arange(width), some.shape), axis=1)
    present = order < rng.integers(1, _FEW + 1, (_COUNT, 1))
    signs = rng.choice([0, 1 << (formats[0].bits - 1)], some.shape)
    return np.where(present, [x[some] | signs, y[some]], 0)


def _reach(unit: Dot) -> int:
    window = unit.engine.window.width
    return 2 * fixed(unit.engine.result.format).precision if window is None else window


__all__ = ["second_block_corner"]
