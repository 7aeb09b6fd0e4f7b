"""Numba kernels that compute dot products row by row, for every accumulator model.

All numbers are float64, which represents every code exactly. A sum that float64 cannot represent is rounded to odd.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fp9.engines import Addend, Truncation
from fp9.formats.host import BINARY64
from fp9.formats.rounding import Flags
from fp9.kernels.bits import bits_float64, float64_bits
from fp9.kernels.compiled import called, inlined, kernel
from fp9.kernels.fused import code_value, finish, sum_to_odd
from fp9.kernels.limbs import deposit, limbs_to_odd
from fp9.kernels.round64 import FRACTION_BITS, INF_BITS, MAGNITUDE, RDN

_INEXACT, _UNDERFLOW = int(Flags.INEXACT), int(Flags.UNDERFLOW)
_INVALID_NAN = BINARY64.invalid_nan
INSIDE, ALIGNED, OUTSIDE = range(3)
ADDENDS = {Addend.INSIDE: INSIDE, Addend.ALIGNED: ALIGNED, Addend.OUTSIDE: OUTSIDE}
_ZERO, _FLOOR, _JAM = range(3)
TRUNCATIONS = {Truncation.ZERO: _ZERO, Truncation.FLOOR: _FLOOR, Truncation.JAM: _JAM}


class Sums(NamedTuple):
    """Parameters of an accumulator model for one pair of operand formats, as numbers for kernels."""

    products: int
    chunk: int  # products between two roundings into the total; joins says whether there are such
    joins: bool
    exact: bool
    window: int  # 0: exact
    floors: bool
    truncation: int
    addend: int
    zero_power: float  # 2^zero_exponent, 0 where zeros do not count
    interleaved: int  # 0: one common sum
    lowest_power: float  # 2^(minimum exponent of the result)
    bypass_a: bool  # NaN-Inf of a, of b, times 0 is 0
    bypass_b: bool
    base: int  # exponent of the lowest bit of the limbs
    addend_floor: float  # addends of steps below it count as zero; 0 where none does
    total_floor: float  # the same of totals that a chunk joins
    infinity_run: int  # products among which infinities of both signs cancel; 0: none do


class Terms(NamedTuple):
    """Factors `a` and `b` of products, and a power of two for each factor, as float64 arrays."""

    a: Any
    b: Any
    # The exponents of both powers add up to the exponent by which an accumulator aligns a product.
    power_a: Any
    power_b: Any


@inlined
def power(x, lowest):
    """Return the larger of 2^floor(log2|x|) and `lowest`, for a finite nonzero `x`."""
    return max(bits_float64(float64_bits(x) & INF_BITS), lowest)


@inlined
def as_addend(c, floor):
    return math.copysign(0.0, c) if abs(c) < floor else c


@inlined
def _is_operand_nan(x):
    return x != x and float64_bits(x) != _INVALID_NAN


@inlined
def _product(s, a, b):
    p = a * b
    if p != p and ((s.bypass_a and b == 0.0) or (s.bypass_b and a == 0.0)):
        return 0.0
    return p


# --- exact sums -----------------------------------------------------------------------------------------------------


@called
def _exact_sum(s, mode, a, b, start, stop, c, limbs):
    special, cancelled = 0.0, False
    quiet = c != c
    some = c != 0.0
    plus = c == 0.0 and math.copysign(1.0, c) > 0.0
    minus = c == 0.0 and not plus
    if math.isfinite(c):
        deposit(limbs, s.base, c)
    for k in range(start, stop):
        p = _product(s, a[k], b[k])
        if s.infinity_run and (k - start) % s.infinity_run == 0:
            cancelled = False
        if not math.isfinite(p):
            before = special
            special = p if cancelled and p == p else special + p
            cancelled = s.infinity_run != 0 and special != special and before == before and p == p
            quiet |= _is_operand_nan(a[k]) or _is_operand_nan(b[k])
        elif p != 0.0:
            deposit(limbs, s.base, p)
            some = True
        elif math.copysign(1.0, p) > 0.0:
            plus = True
        else:
            minus = True
    value = limbs_to_odd(limbs, s.base)
    if special != 0.0 or not math.isfinite(c):
        return float64_bits(special + c), quiet
    if value == 0.0:
        negative = mode == RDN if some or (plus and minus) else minus
        return float64_bits(-0.0 if negative else 0.0), quiet
    return float64_bits(value), quiet


# --- windows --------------------------------------------------------------------------------------------------------


@inlined
def _largest(s, a, b, power_a, power_b, start, stop, stride):
    top, zero, special, quiet = 0.0, False, 0.0, False
    for k in range(start, stop, stride):
        p = _product(s, a[k], b[k])
        if not math.isfinite(p):
            special += p
            quiet |= _is_operand_nan(a[k]) or _is_operand_nan(b[k])
        elif power_a[k] * power_b[k] == 0.0:
            zero = True
        else:
            top = max(top, power_a[k] * power_b[k])
    return top, zero, special, quiet


@inlined
def cut(s, x):
    """Truncate a number to an integer by the truncation rule of the accumulator model."""
    # The magnitude of `x` must be far below 2^52.
    if s.truncation == _FLOOR:
        return np.floor(x)
    kept = np.trunc(x)
    if s.truncation == _JAM and kept != x and not np.int64(kept) & 1:
        kept += math.copysign(1.0, x)
    return kept


@inlined
def _cut_sum(s, a, b, scale, start, stop, stride):
    total, dropped = 0.0, False
    for k in range(start, stop, stride):
        p = _product(s, a[k], b[k]) * scale
        kept = cut(s, p)
        dropped |= kept != p
        total += kept
    return total, dropped


@called
def _window_sum(s, mode, a, b, power_a, power_b, start, stop, c):
    top, zero, special, quiet = _largest(s, a, b, power_a, power_b, start, stop, 1)
    if special != 0.0 or not math.isfinite(c):
        return float64_bits(special + c), False, quiet or c != c
    if s.addend == INSIDE:
        if c != 0.0:
            top = max(top, power(c, s.lowest_power))
        else:
            zero = True
    if zero:
        top = max(top, s.zero_power)
    if top == 0.0:
        return float64_bits(c), False, quiet
    scale = math.ldexp(1.0, s.window) / top
    total, dropped = _cut_sum(s, a, b, scale, start, stop, 1)
    addend = c * scale
    if s.addend != OUTSIDE:
        kept = cut(s, addend)
        dropped |= kept != addend
        addend = kept
    return sum_to_odd(total / scale, addend / scale, mode), dropped, quiet


@called
def _joined_sum(s, a, b, power_a, power_b, start, stop, c):
    top_even, _, special_even, quiet_even = _largest(s, a, b, power_a, power_b, start, stop, 2)
    top_odd, _, special_odd, quiet_odd = _largest(s, a, b, power_a, power_b, start + 1, stop, 2)
    special, quiet = special_even + special_odd, quiet_even or quiet_odd or c != c
    if special != 0.0 or not math.isfinite(c):
        return float64_bits(special + c), False, quiet
    unit = math.ldexp(1.0, s.window)
    even, lost_even = _cut_sum(s, a, b, unit / top_even if top_even else 0.0, start, stop, 2)
    odd, lost_odd = _cut_sum(s, a, b, unit / top_odd if top_odd else 0.0, start + 1, stop, 2)
    bits, dropped = join_halves(s, top_even, top_odd, even, odd, c)
    return bits, dropped or lost_even or lost_odd, quiet


@called
def join_halves(s, top_even, top_odd, even, odd, c):
    """Add the sum of products with even indices, the sum of products with odd indices, and the addend `c`.

    Return the float64 pattern of the total, and whether bits were dropped.
    """
    # The truncated sums of products are `even` * `top_even` * 2^-`s.window` and `odd` * `top_odd` * 2^-`s.window`.
    unit, wide = math.ldexp(1.0, s.window), math.ldexp(1.0, s.interleaved + 1)
    power_c = power(c, s.lowest_power) if c != 0.0 else s.lowest_power
    top_products = max(top_even, top_odd)
    top = max(top_products, power_c)
    dot, dropped = 0.0, False
    if top_products != 0.0:
        for total, own in ((even, top_even), (odd, top_odd)):
            part = total * (own / top_products)
            dropped |= np.floor(part) != part
            dot += np.floor(part)
    part = dot * (top_products / top) * (wide / unit)
    total = np.floor(part)
    dropped |= total != part
    addend = c * (unit / top)
    cut = np.floor(addend) if power_c * unit * 2.0 >= top else 0.0
    dropped |= cut != addend
    total = (total + cut * (wide / unit)) * (top / wide)
    if total != 0.0:
        last = math.ldexp(1.0, s.interleaved) / power(total, s.lowest_power)
        part = total * last
        dropped |= np.floor(part) != part
        total = np.floor(part) / last
    return float64_bits(total), dropped


# --- one rounding ---------------------------------------------------------------------------------------------------


@called
def finish_aligned(t, bits, dropped, code, value, flags):
    if value == 0.0:
        code = np.uint32(0)
    if dropped:
        row = (bits & MAGNITUDE) >> FRACTION_BITS
        if flags == 0 and bits & MAGNITUDE != 0 and t.can_underflow and row < t.lowest_row:
            flags |= np.uint8(_UNDERFLOW)
        flags |= np.uint8(_INEXACT)
    return code, flags


@called
def take_step(result, s, terms, start, stop, c, random, width, limbs):
    binades, order, t, mode, table = result
    a, b, power_a, power_b = terms
    dropped, c = False, as_addend(c, s.addend_floor)
    if s.interleaved:
        bits, dropped, quiet = _joined_sum(s, a, b, power_a, power_b, start, stop, c)
    elif s.window:
        bits, dropped, quiet = _window_sum(s, mode, a, b, power_a, power_b, start, stop, c)
    elif stop - start == 1:
        p = _product(s, a[start], b[start])
        quiet = c != c or (p != p and (_is_operand_nan(a[start]) or _is_operand_nan(b[start])))
        bits = sum_to_odd(p, c, mode)
    else:
        bits, quiet = _exact_sum(s, mode, a, b, start, stop, c, limbs)
    code, flags = finish(binades, order, t, mode, bits, random, width, quiet)
    value = code_value(table, t, code)
    if s.window:
        code, flags = finish_aligned(t, bits, dropped, code, value, flags)
    return code, code_value(table, t, code), flags


@called
def _sum_row(result, output, s, terms, c, scales, randoms, width, limbs):
    binades, order, t, mode, table = output
    total, value = c, c
    code, raised = np.uint32(0), np.uint8(0)
    rounding, position, chunk = 0, 0, 0
    while position < terms.a.size:
        end = min(position + s.chunk, terms.a.size)
        if s.joins:
            value = 0.0
        while position < end:
            stop = min(position + s.products, end)
            random = randoms[min(rounding, randoms.size - 1)]
            code, value, flags = take_step(result, s, terms, position, stop, value, random, width, limbs)
            raised |= flags
            rounding += 1
            position = stop
        if s.joins:
            scale = scales[min(chunk, scales.size - 1)]
            part = value * scale
            random = randoms[min(rounding, randoms.size - 1)]
            bits = sum_to_odd(part, as_addend(total, s.total_floor), mode)
            quiet = value != value or scale != scale or total != total
            code, flags = finish(binades, order, t, mode, bits, random, width, quiet)
            total = code_value(table, t, code)
            raised |= flags
            rounding += 1
            chunk += 1
    return code, raised


@kernel
def sum_rows(result, output, s, terms, c, scales, random_bits, limbs, codes, flags):
    """Write the code and the flags of the dot product of each pair of rows."""
    # Shapes: `a` and `b` (m or 1, k), `scales` (m or 1, chunks), `random_bits` (m or 1, roundings or 1); `c`, `codes`
    # and `flags` (m,).
    randoms, width = random_bits
    a, b, power_a, power_b = terms
    for i in range(codes.shape[0]):
        ia, ib = i if a.shape[0] > 1 else 0, i if b.shape[0] > 1 else 0
        random = randoms[i if randoms.shape[0] > 1 else 0]
        if s.exact:
            addend = as_addend(c[i], s.total_floor)
            bits, quiet = _exact_sum(s, result.mode, a[ia], b[ib], 0, b.shape[1], addend, limbs)
            rounding = result.binades, result.order, result.target, result.mode
            codes[i], flags[i] = finish(*rounding, bits, random[0], width, quiet)
        else:
            powers = power_a[ia if power_a.shape[0] > 1 else 0], power_b[ib if power_b.shape[0] > 1 else 0]
            row, scale = Terms(a[ia], b[ib], *powers), scales[i if scales.shape[0] > 1 else 0]
            codes[i], flags[i] = _sum_row(result, output, s, row, c[i], scale, random, width, limbs)
