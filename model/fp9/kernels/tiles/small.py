"""Numba kernels that decode the operands of small matrix products, and check and store the sums."""

from __future__ import annotations

import numpy as np

from fp9.formats.rounding import Flags
from fp9.kernels.bits import float32_bits
from fp9.kernels.compiled import inlined, kernel

_INEXACT = int(Flags.INEXACT)
_HIGHEST = (1 << 15) - 1
PADDING = -1
"""Index of a product that pads the last chunk."""


@inlined
def _look_up(codes, tables):
    numbers, exponents, lows, finite, lowest, highest = tables
    found = np.empty(codes.shape, numbers.dtype), np.empty(codes.shape, np.int8), np.empty(codes.shape, lows.dtype)
    is_finite, low, high = True, np.int64(_HIGHEST), np.int64(-_HIGHEST)
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            code = np.int64(codes[i, j])
            if code >= numbers.size:
                is_finite, code = False, np.int64(0)
            found[0][i, j], found[1][i, j], found[2][i, j] = numbers[code], exponents[code], lows[code]
            is_finite &= finite[code]
            low, high = min(low, np.int64(lowest[code])), max(high, np.int64(highest[code]))
    return found, (is_finite, low, high)


@kernel
def unpack(a, b, order_a, order_b, tables_a, tables_b):
    """Look up the number, alignment exponent and lowest 1 bit's exponent of each code in `a` (m, k) and `b` (k, n)."""
    # `order_a` and `order_b` are pairs: product indices, and the code that replaces the index `PADDING`.
    # `tables_a` and `tables_b` hold six tables by code: number, alignment exponent, exponent of the lowest 1 bit,
    # whether the code is finite, lowest exponent, and highest exponent.
    # For each operand, the result holds three arrays, and a tuple: whether all codes are valid and finite, the lowest
    # exponent, and the highest exponent.
    (places_a, filler_a), (places_b, filler_b) = order_a, order_b
    rows, columns = np.empty((a.shape[0], places_a.size), a.dtype), np.empty((places_b.size, b.shape[1]), b.dtype)
    for k in range(places_a.size):
        for i in range(rows.shape[0]):
            rows[i, k] = filler_a if places_a[k] == PADDING else a[i, places_a[k]]
        for j in range(columns.shape[1]):
            columns[k, j] = filler_b if places_b[k] == PADDING else b[places_b[k], j]
    return _look_up(rows, tables_a), _look_up(columns, tables_b)


@kernel
def unpack_rows(codes, order, numbers, powers):
    """Return the numbers and alignment powers of the codes (m, k) as float64, and whether all codes are valid."""
    places, filler = order
    aligned, is_valid = powers.size > 0, True
    values = np.empty((codes.shape[0], places.size))
    own_powers = np.empty(values.shape) if aligned else np.zeros((1, 1))
    for i in range(values.shape[0]):
        for k in range(places.size):
            code = np.int64(filler if places[k] == PADDING else codes[i, places[k]])
            if code >= numbers.size:
                is_valid, code = False, np.int64(0)
            values[i, k] = numbers[code]
            if aligned:
                own_powers[i, k] = powers[code]
    return values, own_powers, is_valid


@kernel
def finish(sums, redo, marks, patterns, flags):
    """Write the float32 bit pattern of each sum to `patterns`, and return whether all sums and flags are valid."""
    # `sums` has the shape (m, n), and `patterns` has the shape (m * n,).
    unusual, place = False, 0
    for i in range(redo.shape[0]):
        for j in range(redo.shape[1]):
            unusual |= bool(redo[i, j])
    for i in range(sums.shape[0]):
        row = sums[i]
        for j in range(row.size):
            unusual |= not abs(row[j]) < np.inf
            patterns[place + j] = float32_bits(np.float32(row[j]))
        if marks is not None:
            for j in range(row.size):
                # A negative mark means that a flag is unknown.
                mark = np.int64(marks[i, j])
                unusual |= bool(mark < 0)
                flags[place + j] = _INEXACT if mark else 0
        place += row.size
    return not unusual
