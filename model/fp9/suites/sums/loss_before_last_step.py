"""Corner-case operations that discard bits before the last accumulation step of a chunk.

The last bits inside the alignment window decide the result, and the discarded bits decide the flags.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.suites.columns import Inputs, fixed
from fp9.suites.sums import several_products
from fp9.suites.sums.exact import opposite
from fp9.suites.sums.scale_columns import scaled
from fp9.suites.sums.sum_corner import Operand, operand_pairs, ports
from fp9.units import Dot

_COUNT = 1000

# Range of the exponents of products, above and below the position where bits are discarded.
_ABOVE, _BELOW = 8, 4

_NOTHING, _AWAY, _SUCH = range(3)

_Codes = NDArray[np.int64]


def loss_before_last_step_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    if unit.engine.steps_of_chunk > 1:
        for a, b in operand_pairs(unit):
            yield from (_behind(unit, a, b, end, rng) for end in _ends(unit.engine))


def _ends(engine: Engine) -> list[int]:
    return [fixed(engine.result.format).precision, *([] if engine.window.width is None else [engine.window.width])]


def _behind(unit: Dot, a: Operand, b: Operand, end: int, rng: np.random.Generator) -> Inputs:
    # Addends are zero, random, or cancel the sum (exactly or up to one ulp).
    steps, rows, sign = unit.engine.steps_of_chunk, np.arange(_COUNT), 1 << (a.format.bits - 1)
    every = [_step(unit, a, b, end, rng) for _ in range(steps)]
    x, y = (np.stack(codes, axis=1) for codes in zip(*every, strict=True))
    chosen = rng.integers(0, steps, _COUNT)
    kind = rng.choice([_NOTHING, _AWAY, _SUCH], (_COUNT, steps), p=(0.6, 0.2, 0.2))
    kind[rows, chosen] = _SUCH
    large_x, large_y = (codes[rows, chosen, 0, None] for codes in (x, y))
    x[kind != _SUCH] = 0
    x[..., 0] = np.where(kind == _AWAY, large_x ^ sign, x[..., 0])
    y[..., 0] = np.where(kind == _AWAY, large_y, y[..., 0])
    lane = rng.permuted(np.broadcast_to(np.arange(unit.engine.step.products), x.shape), axis=-1)
    places = np.argsort(unit.engine.order(unit.products), kind="stable")
    x, y = (np.take_along_axis(codes, lane, -1).reshape(_COUNT, -1)[:, places] for codes in (x, y))
    columns = ports(unit, a, b, x, y, rng.choice([0, fixed(unit.engine.output).sign_mask], _COUNT))
    drawn = rng.integers(0, 1 << unit.engine.output.bits, _COUNT)
    taken_back = opposite(replace(unit, scale=None, block=None), columns, rng)
    c = np.choose(rng.integers(0, 3, _COUNT), [columns["c"], drawn, taken_back])
    return scaled(unit, columns | {"c": c.astype(np.uint32)}, rng)


def _step(unit: Dot, a: Operand, b: Operand, end: int, rng: np.random.Generator) -> tuple[_Codes, _Codes]:
    # The first product is large. The second product is zero, or cancels the first. Half of the others are about `end`
    # bits below the first.
    shape, sign = (_COUNT, unit.engine.step.products), 1 << (a.format.bits - 1)
    exponents = several_products.by_exponent(a.format, b.format)[2]
    large = rng.integers(min(exponents[0] + end, exponents[-1]), exponents[-1] + 1, (_COUNT, 1))
    wanted = large - end + rng.integers(-_BELOW, _ABOVE + 1, shape)
    wanted[:, :1] = large
    x, y = (codes.reshape(shape) for codes in several_products.of_exponent(a.format, b.format, wanted.reshape(-1), rng))
    x[:, 1:] = np.where(rng.random((_COUNT, shape[1] - 1)) < 0.5, 0, x[:, 1:])
    x = x | rng.choice([0, sign], shape)
    cancels = rng.random((_COUNT, 1)) < 0.5
    x[:, 1:2], y[:, 1:2] = np.where(cancels, x[:, :1] ^ sign, 0), y[:, :1]
    return x, y


__all__ = ["loss_before_last_step_corner"]
