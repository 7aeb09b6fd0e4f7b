"""Numba kernels for matrix products with an alignment window, vectorised over columns."""

from __future__ import annotations

import math

import numpy as np

from fp9.kernels.bits import bits_float64, float64_bits
from fp9.kernels.compiled import inlined, kernel
from fp9.kernels.engine_steps import ALIGNED, INSIDE, join_halves
from fp9.kernels.floats import floor, round64, rounded_sum, truncate
from fp9.kernels.matrices import TILE
from fp9.kernels.round64 import INF_BITS

_NOTHING = 2.0**-800
"""Power of two that represents the largest product of a step without products."""


@inlined
def _tops(tops, a, b, begin, end, stride):
    tops[:] = _NOTHING
    for k in range(begin, end, stride):
        a0, b0 = a[k], b[k]
        for j in range(tops.size):
            tops[j] = max(tops[j], a0 * b0[j])


@inlined
def _cuts(totals, scales, a, b, begin, end, stride, floors):
    totals[:] = 0.0
    for k in range(begin, end, stride):
        a0, b0 = a[k], b[k]
        if floors:
            for j in range(totals.size):
                totals[j] += floor(a0 * b0[j] * scales[j])
        else:
            for j in range(totals.size):
                totals[j] += truncate(a0 * b0[j] * scales[j])


@inlined
def _scales(scales, row, tops, inside, unit, lowest):
    for j in range(row.size):
        c = row[j]
        own = max(bits_float64(float64_bits(c) & INF_BITS), lowest)
        counts = inside and c != 0.0 and abs(c) < np.inf
        scales[j] = unit / (max(tops[j], own) if counts else tops[j])


@inlined
def _close(row, totals, scales, tops, inside, aligned, floors, t):
    # If `inside` is true, accumulators are truncated as products are. If `aligned` is true, accumulators are truncated,
    # but only in steps with products.
    for j in range(row.size):
        addend = row[j] * scales[j]
        cut = floor(addend) if floors else truncate(addend)
        addend = cut if inside or (aligned and tops[j] != _NOTHING) else addend
        # An aligned sum's zero has no sign: + 0 makes it +0.
        row[j] = rounded_sum(totals[j] / scales[j], addend / scales[j], t) + 0.0


@kernel
def windowed(s, a, b, power_a, power_b, acc, begin, end, t):
    """In each step, add `s.products` products to the accumulators `acc` in float64, with an alignment window."""
    m, n = acc.shape
    width = min(n, TILE)
    tops, scales, totals = np.empty(width), np.empty(width), np.empty(width)
    unit = math.ldexp(1.0, s.window)
    for left in range(0, n, TILE):
        right = min(left + TILE, n)
        top, scale, total = tops[: right - left], scales[: right - left], totals[: right - left]
        for first in range(begin, end, s.products):
            last = min(first + s.products, end)
            for i in range(m):
                row = acc[i, left:right]
                _tops(top, power_a[i], power_b[:, left:right], first, last, 1)
                _scales(scale, row, top, s.addend == INSIDE, unit, s.lowest_power)
                _cuts(total, scale, a[i], b[:, left:right], first, last, 1, s.floors)
                _close(row, total, scale, top, s.addend == INSIDE, s.addend == ALIGNED, s.floors, t)


@kernel
def interleaved(s, a, b, power_a, power_b, acc, begin, end, t):
    m, n = acc.shape
    width = min(n, TILE)
    tops, scales, totals = np.empty((2, width)), np.empty(width), np.empty((2, width))
    unit = math.ldexp(1.0, s.window)
    for left in range(0, n, TILE):
        right = min(left + TILE, n)
        top, scale, total = tops[:, : right - left], scales[: right - left], totals[:, : right - left]
        for first in range(begin, end, s.products):
            last = min(first + s.products, end)
            for i in range(m):
                row = acc[i, left:right]
                for odd in range(2):
                    _tops(top[odd], power_a[i], power_b[:, left:right], first + odd, last, 2)
                    _scales(scale, row, top[odd], False, unit, s.lowest_power)
                    _cuts(total[odd], scale, a[i], b[:, left:right], first + odd, last, 2, False)
                for j in range(row.size):
                    c = row[j]
                    plain = total[0, j] + total[1, j] + c
                    if abs(plain) < np.inf:
                        bits, _ = join_halves(s, top[0, j], top[1, j], total[0, j], total[1, j], c)
                        plain = bits_float64(bits)
                    row[j] = round64(plain, t) + 0.0
