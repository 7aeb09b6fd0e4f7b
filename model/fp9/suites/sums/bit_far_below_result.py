"""Corner-case operations in which the result depends on a bit far below the result's last bit.

alone   addend     1 x x x x x x x |
        products               1   | 0 0 0 0 1
tie     products   1 0 0 0 0 0 0 0 | 1 0 0 0 0 1 0 0 1
        addend   -                 |           1 0 0 1 x x
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fp9.suites.columns import Inputs, addend, fixed
from fp9.suites.sums.product_and_addend import product
from fp9.suites.sums.scale_columns import scales_of
from fp9.suites.sums.scaled import full_sums, in_any_lanes, on_ports, powers
from fp9.units import Dot

_COUNT = 1500


def bit_far_below_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    # Other scales than powers of two would turn one bit into several bits.
    if unit.scale is None or unit.scale.precision > 1 or unit.products < 2:
        return
    for pair in itertools.product(range(len(unit.a)), range(len(unit.b))):
        yield _alone(unit, *pair, rng)
        yield from _tie(unit, *pair, rng)


def _alone(unit: Dot, first: int, second: int, rng: np.random.Generator) -> Inputs:
    # Sums of an addend and two powers of two, of which rounding discards only the lower one. The higher power is one
    # product, or the sum of all other products.
    formats, lanes, result = (unit.a[first], unit.b[second]), unit.products, fixed(unit.engine.output)
    x, y, exponents = powers(*formats)
    small = np.stack([x, y], axis=1)
    rest = np.zeros((len(x), lanes - 2, 2), dtype=np.int64)
    full = np.array(full_sums(*formats, lanes - 1), dtype=np.int64).reshape(-1, lanes - 1, 2)
    heads = np.concatenate([np.concatenate([small[:, None], rest], axis=1), full])
    tops = np.log2(product(heads[..., 0], heads[..., 1], *formats).sum(axis=1)).astype(np.int64)
    apart = tops[:, None] - exponents
    pairs = [found for distance in range(1, apart.max() + 1) if len(found := np.argwhere(apart == distance))]
    above, distance = np.divmod(rng.permutation(_COUNT) % ((result.precision + 2) * len(pairs)), len(pairs))
    head, low = np.stack([rng.choice(pairs[place]) for place in distance], axis=1)
    codes = np.concatenate([heads[head], small[low, None]], axis=1)
    signs = rng.integers(0, 2, (_COUNT, 2))
    codes[:, :, 0] |= np.repeat(signs, (lanes - 1, 1), axis=1) << (formats[0].bits - 1)
    codes = in_any_lanes(codes, rng)
    top = rng.integers(result.min_normal_exponent, result.highest_exponent + 1, _COUNT)
    columns = scales_of(unit, top - above - tops[head], rng)
    fraction = rng.integers(0, 1 << result.fraction_bits, _COUNT)
    columns["c"] = addend(result, np.exp2(top), np.zeros_like(top), fraction, rng.integers(0, 2, _COUNT))
    return on_ports(unit, (first, second), codes[..., 0], codes[..., 1], columns)


def _tie(unit: Dot, first: int, second: int, rng: np.random.Generator) -> Iterator[Inputs]:
    # The products are a power of two, half an ulp of this power, and two much smaller powers of two, which the addend
    # slightly exceeds with opposite sign.
    result, (x, y, exponents) = fixed(unit.engine.output), powers(unit.a[first], unit.b[second])
    farthest, places = len(x) - 1, result.fraction_bits
    if unit.products < 4 or farthest < result.precision + 4 or farthest != exponents[-1] - exponents[0]:
        return
    opposite = rng.integers(0, 2, _COUNT)
    distance = rng.integers(result.precision + 2, farthest, _COUNT)
    apart = rng.integers(1, np.minimum(places, farthest - distance) + 1)
    large = rng.integers(distance + apart, len(x))
    chosen = large[:, None] - np.stack([0 * large, result.precision + opposite, distance, distance + apart], axis=1)
    sign, low = rng.integers(0, 2, (2, _COUNT))
    signs = np.stack([sign, sign ^ opposite, low, low], axis=1)
    codes = np.zeros((_COUNT, unit.products, 2), dtype=np.int64)
    codes[:, :4, 0] = x[chosen] | signs << (unit.a[first].bits - 1)
    codes[:, :4, 1] = y[chosen]
    codes = in_any_lanes(codes, rng)
    highest = result.highest_exponent
    top = rng.integers(np.minimum(result.min_normal_exponent + distance, highest), highest + 1)
    columns = scales_of(unit, top - exponents[large], rng)
    bit: NDArray[np.int64] = 1 << (places - apart)
    fraction = bit + rng.integers(0, bit) - rng.integers(0, 2, _COUNT) * (bit >> 1)
    columns["c"] = addend(result, np.exp2(top), -distance, fraction, 1 - low)
    yield on_ports(unit, (first, second), codes[..., 0], codes[..., 1], columns)


__all__ = ["bit_far_below_corner"]
