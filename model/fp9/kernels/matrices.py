"""Numba kernels for matrix products, vectorised over columns.

All kernels take factors a (m, k) and b (k, n), in the type of the accumulators `acc` (m, n). The inner loops run over
slices of single rows, because LLVM vectorises such loops.
"""

from __future__ import annotations

import numpy as np

from fp9.formats.rounding import FLAG_BITS, Flags
from fp9.kernels.bits import float64_bits
from fp9.kernels.compiled import inlined, kernel
from fp9.kernels.floats import odd_sum, odd_sum_of_three, round32, rounded_sum, rounded_sum_of_three, two_sum
from fp9.kernels.fused import code_value, finish
from fp9.kernels.limbs import deposit, limbs_to_odd

TILE = 1024
"""Number of columns in a tile. A row of accumulators stays in the first-level cache."""
_INEXACT, _UNDERFLOW = int(Flags.INEXACT), int(Flags.UNDERFLOW)
DOUBTFUL = 1 << FLAG_BITS
_BLOCK = 64
"""Number of rows of `b` in a block, which stays in the second-level cache."""


# --- rounded multiply-adds ------------------------------------------------------------------------------------------


@kernel
def rounded_chain(a, b, acc, begin, end, t):
    """Set acc = round(acc + a[:, k] * b[k]) for each k in order."""
    # `t` rounds to nearest inside float32. If products and accumulators have p bits with 2 p + 2 <= 24, double rounding
    # is harmless.
    m, n = acc.shape
    for left in range(0, n, TILE):
        right = min(left + TILE, n)
        for first in range(begin, end, _BLOCK):
            for i in range(m):
                row = acc[i, left:right]
                for k in range(first, min(first + _BLOCK, end)):
                    a0, b0 = a[i, k], b[k, left:right]
                    for j in range(row.size):
                        row[j] = round32(row[j] + a0 * b0[j], t)


@inlined
def _marked_sum(row, marks, a0, b0, lowest, t):
    for j in range(row.size):
        total, error = two_sum(a0 * b0[j], row[j])
        r = round32(total, t)
        inexact = r != total or error != 0.0
        small = (_UNDERFLOW if abs(r) < lowest else 0) | (DOUBTFUL if abs(r) == lowest else 0)
        marks[j] |= (_INEXACT | small) if inexact else 0
        row[j] = r


@kernel
def rounded_chain_flagged(a, b, acc, marks, begin, end, lowest, t):
    """Compute the same sums as `rounded_chain`, and OR the exception flags of finite sums into the array `marks`."""
    m, n = acc.shape
    for left in range(0, n, TILE):
        right = min(left + TILE, n)
        for first in range(begin, end, _BLOCK):
            for i in range(m):
                row, own = acc[i, left:right], marks[i, left:right]
                for k in range(first, min(first + _BLOCK, end)):
                    _marked_sum(row, own, a[i, k], b[k, left:right], lowest, t)


# --- two products and the addend, exactly ----------------------------------------------------------------------------


@inlined
def _pair(row, a0, a1, b0, b1, t):
    for j in range(row.size):
        row[j] = rounded_sum_of_three(a0 * b0[j], a1 * b1[j], row[j], t)


@inlined
def _narrow_pair(row, a0, a1, b0, b1, t):
    for j in range(row.size):
        row[j] = rounded_sum(a0 * b0[j] + a1 * b1[j], row[j], t)


@kernel
def rounded_pairs(a, b, acc, begin, end, step, narrow, neutral, t):
    """Repeat acc = round(acc + `step` products) in float64, where `step` is 1 or 2."""
    # `neutral` is a row of -0. `narrow` is true if float64 holds the sum of a step's products exactly.
    m, n = acc.shape
    for left in range(0, n, TILE):
        right = min(left + TILE, n)
        for first in range(begin, end, _BLOCK):
            last = min(first + _BLOCK, end)
            for i in range(m):
                row = acc[i, left:right]
                for k in range(first, last, step):
                    two = step == 2 and k + 1 < last
                    a0, a1 = a[i, k], a[i, k + 1] if two else 1.0
                    b0, b1 = b[k, left:right], b[k + 1, left:right] if two else neutral[left:right]
                    if narrow:
                        _narrow_pair(row, a0, a1, b0, b1, t)
                    else:
                        _pair(row, a0, a1, b0, b1, t)


@inlined
def _mark(marks, total, r, lowest):
    # If `r` is the smallest normal number but |total| is smaller, the sum may have underflowed.
    inexact = r != total
    flags = marks | (_INEXACT if inexact else 0) | (_UNDERFLOW if inexact and abs(r) < lowest else 0)
    return flags | (DOUBTFUL if abs(r) == lowest and abs(total) < lowest else 0)


@inlined
def _flagged_product(row, marks, a0, b0, lowest, t):
    for j in range(row.size):
        p = a0 * b0[j]
        total, r = odd_sum(p, row[j]), rounded_sum(p, row[j], t)
        marks[j] = _mark(marks[j], total, r, lowest)
        row[j] = r


@inlined
def _flagged_pair(row, marks, a0, a1, b0, b1, lowest, t):
    for j in range(row.size):
        p, q = a0 * b0[j], a1 * b1[j]
        total, r = odd_sum_of_three(p, q, row[j]), rounded_sum_of_three(p, q, row[j], t)
        marks[j] = _mark(marks[j], total, r, lowest)
        row[j] = r


@kernel
def rounded_pairs_flagged(a, b, acc, marks, begin, end, step, lowest, t):
    """Compute `rounded_pairs`, and collect the flags of finite sums in `marks` (int64)."""
    m, n = acc.shape
    for left in range(0, n, TILE):
        right = min(left + TILE, n)
        for first in range(begin, end, _BLOCK):
            last = min(first + _BLOCK, end)
            for i in range(m):
                row, own = acc[i, left:right], marks[i, left:right]
                for k in range(first, last, step):
                    if step == 2 and k + 1 < last:
                        pair = a[i, k], a[i, k + 1], b[k, left:right], b[k + 1, left:right]
                        _flagged_pair(row, own, *pair, lowest, t)
                    else:
                        _flagged_product(row, own, a[i, k], b[k, left:right], lowest, t)


# --- sums of sums ----------------------------------------------------------------------------------------------------


@kernel
def join(totals, parts, scale_a, scale_b, t):
    for i in range(totals.shape[0]):
        row_scale = scale_a[i if scale_a.size > 1 else 0]
        row, part = totals[i], parts[i]
        for j in range(row.size):
            row[j] = rounded_sum(part[j] * (row_scale * scale_b[j]), row[j], t)


@kernel
def join_flagged(totals, parts, scale_a, scale_b, t, lowest, marks):
    for i in range(totals.shape[0]):
        row_scale = scale_a[i if scale_a.size > 1 else 0]
        row, part, own = totals[i], parts[i], marks[i]
        for j in range(row.size):
            x = part[j] * (row_scale * scale_b[j])
            total, r = odd_sum(x, row[j]), rounded_sum(x, row[j], t)
            own[j] = _mark(own[j], total, r, lowest)
            row[j] = r


@kernel
def join_parts(totals, first, second, t):
    for i in range(totals.shape[0]):
        row, x = totals[i], first[i]
        if second is None:
            for j in range(row.size):
                row[j] = rounded_sum(x[j], row[j], t)
        else:
            y = second[i]
            for j in range(row.size):
                row[j] = rounded_sum_of_three(x[j], y[j], row[j], t)


@kernel
def join_parts_flagged(totals, first, second, t, below, inexact, tiny):
    for i in range(totals.shape[0]):
        row, x, met, small = totals[i], first[i], inexact[i], tiny[i]
        if second is None:
            for j in range(row.size):
                total = odd_sum(x[j], row[j])
                row[j] = rounded_sum(x[j], row[j], t)
                met[j] = row[j] != total
                small[j] = abs(total) < below and total != 0.0
        else:
            y = second[i]
            for j in range(row.size):
                total = odd_sum_of_three(x[j], y[j], row[j])
                row[j] = rounded_sum_of_three(x[j], y[j], row[j], t)
                met[j] = row[j] != total
                small[j] = abs(total) < below and total != 0.0


@kernel
def combine(result, base, limbs, parts, totals, flags):
    binades, order, t, mode, table = result
    for i in range(totals.shape[0]):
        for j in range(totals.shape[1]):
            c = totals[i, j]
            plain = c
            for p in range(parts.shape[0]):
                plain += parts[p, i, j]
            if abs(plain) < np.inf:
                deposit(limbs, base, c)
                for p in range(parts.shape[0]):
                    deposit(limbs, base, parts[p, i, j])
                value = limbs_to_odd(limbs, base)
                plain = value if value != 0.0 else plain
            code, flags[i, j] = finish(binades, order, t, mode, float64_bits(plain), 0, 1, True)
            totals[i, j] = code_value(table, t, code)
