"""Numba kernels for dot products whose products share scales in groups (NVFP4)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fp9.kernels.bits import bits_float64, float64_bits
from fp9.kernels.compiled import called, inlined, kernel
from fp9.kernels.engine_steps import as_addend, cut, finish_aligned, power
from fp9.kernels.floats import rounded_sum, truncate
from fp9.kernels.fused import code_value, finish, sum_to_odd
from fp9.kernels.round64 import INF_BITS


class Groups(NamedTuple):
    """Operands of dot products: integers, and one scale and one power of two for each group of integers."""

    a: Any
    b: Any
    factors_a: Any
    factors_b: Any
    # The exponents of both powers add up to the exponent by which an accumulator aligns a group's sum.
    powers_a: Any
    powers_b: Any


@inlined
def _group_sum(a, b):
    total, some = np.int32(0), np.int32(0)
    for k in range(a.size):
        p = np.int32(a[k] * b[k])
        total = np.int32(total + p)
        some |= p
    return total, some == 0


@inlined
def _at(row, group):
    return row[min(group, row.size - 1)]


@called
def _step(s, group, unit, mode, groups, start, stop, c, terms):
    a, b, factors_a, factors_b, powers_a, powers_b = groups
    top, zero, special = 0.0, c == 0.0, 0.0
    for begin in range(start, stop, group):
        place = begin // group
        end = min(begin + group, stop)
        total, nothing = _group_sum(a[begin:end], b[begin:end])
        scale = _at(factors_a, place) * _at(factors_b, place)
        term = total * unit * scale
        terms[(begin - start) // group] = term
        if not math.isfinite(term):
            special += term
        elif nothing or scale == 0.0:
            zero = True
        else:
            top = max(top, _at(powers_a, place) * _at(powers_b, place))
    if special != 0.0 or not math.isfinite(c):
        return float64_bits(special + c), False, True
    if c != 0.0:
        top = max(top, power(c, s.lowest_power))
    if zero:
        top = max(top, s.zero_power)
    if top == 0.0:
        return float64_bits(c), False, False
    scale = math.ldexp(1.0, s.window) / top
    addend = c * scale
    kept_addend = cut(s, addend)
    dropped, whole = kept_addend != addend, 0.0
    for place in range((stop - start + group - 1) // group):
        part = terms[place] * scale
        kept = cut(s, part)
        dropped |= kept != part
        whole += kept
    return sum_to_odd(whole / scale, kept_addend / scale, mode), dropped, False


@kernel
def grouped_rows(result, s, group, unit, groups, c, random_bits, codes, flags):
    """Compute dot products of rows, and write the result codes to `codes` and the exception flags to `flags`."""
    # Operands are int32 integers (m or 1, k) in units of the formats' lowest bits. Scales have the shape (m or 1,
    # groups or 1), and `c`, `codes` and `flags` the shape (m,).
    binades, order, t, mode, table = result
    randoms, width = random_bits
    a, b, factors_a, factors_b, powers_a, powers_b = groups
    terms = np.empty(s.products // group)
    for i in range(codes.shape[0]):
        ia, ib = i if a.shape[0] > 1 else 0, i if b.shape[0] > 1 else 0
        scale_a, scale_b = i if factors_a.shape[0] > 1 else 0, i if factors_b.shape[0] > 1 else 0
        scales = factors_a[scale_a], factors_b[scale_b], powers_a[scale_a], powers_b[scale_b]
        row = Groups(a[ia], b[ib], *scales)
        random = randoms[i if randoms.shape[0] > 1 else 0]
        value, code, raised = c[i], np.uint32(0), np.uint8(0)
        for rounding, start in enumerate(range(0, b.shape[1], s.products)):
            stop = min(start + s.products, b.shape[1])
            addend = as_addend(value, s.addend_floor)
            bits, dropped, quiet = _step(s, group, unit, mode, row, start, stop, addend, terms)
            code, own = finish(binades, order, t, mode, bits, random[min(rounding, random.size - 1)], width, quiet)
            code, own = finish_aligned(t, bits, dropped, code, code_value(table, t, code), own)
            value = code_value(table, t, code)
            raised |= own
        codes[i], flags[i] = code, raised


# --- steps of matrix products, vectorised over columns ---------------------------------------------------------------


@inlined
def _take_step(s, unit, row, sums, magnitudes, factors_a, factors_b, powers_a, powers_b, t):
    # Accumulators may be infinite or NaN. All other numbers are finite.
    for j in range(row.size):
        c = row[j]
        top = max(bits_float64(float64_bits(c) & INF_BITS), s.lowest_power) if c != 0.0 else s.zero_power
        for g in range(sums.shape[0]):
            power = powers_a[g] * powers_b[g, j]
            top = max(top, power if magnitudes[g, j] * power != 0.0 else s.zero_power)
        scale = unit / top if top != 0.0 else 1.0
        total = 0.0
        for g in range(sums.shape[0]):
            total += truncate(sums[g, j] * (factors_a[g] * factors_b[g, j]) * scale)
        rounded = rounded_sum(total / scale, truncate(c * scale) / scale, t) + 0.0
        row[j] = rounded if abs(c) < np.inf and top != 0.0 else c


@kernel
def grouped_columns(s, sums, magnitudes, factors_a, factors_b, powers_a, powers_b, acc, t):
    """Do one step of `grouped_rows` for all accumulators `acc` (m, n), in float64."""
    # Shapes: `sums` and `magnitudes` (groups, m, n), `factors_a` and `powers_a` (m or 1, groups), `factors_b` and
    # `powers_b` (groups, n).
    unit = math.ldexp(1.0, s.window)
    for i in range(acc.shape[0]):
        own = i if factors_a.shape[0] > 1 else 0
        _take_step(
            s, unit, acc[i], sums[:, i], magnitudes[:, i], factors_a[own], factors_b, powers_a[own], powers_b, t
        )  # fmt: skip
