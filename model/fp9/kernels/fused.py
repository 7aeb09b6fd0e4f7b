"""Numba kernels for fused multiply-adds: an exact sum is rounded once.

The exact sum is first rounded to odd in float64: the last bit of an inexact sum is set. After rounding to odd, a second
rounding to at most 24 bits gives the correctly rounded sum (Boldo and Melquiond, "Emulation of a FMA and correctly
rounded sums", IEEE ToC 2008).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fp9.engines import MacOp
from fp9.formats.rounding import Flags
from fp9.kernels.bits import bits_float64, float64_bits
from fp9.kernels.compiled import called, inlined, kernel
from fp9.kernels.round64 import FRACTION_BITS, INF_BITS, MAGNITUDE, RDN, round_bits

_INVALID, _INEXACT, _UNDERFLOW = int(Flags.INVALID), int(Flags.INEXACT), int(Flags.UNDERFLOW)
_ACCUMULATE, _LOAD, _CLEAR = int(MacOp.ACCUMULATE), int(MacOp.LOAD), int(MacOp.CLEAR)


class Result(NamedTuple):
    """Rounding tables of a result format (see `casts.tables`), and the table that decodes result codes."""

    binades: Any
    order: Any
    target: Any
    mode: int
    table: Any


@inlined
def sum_to_odd(p, c, mode):
    """Return the float64 pattern of p + c, rounded to odd."""
    total = p + c
    # The sign of a zero sum follows IEEE 754.
    if total == 0.0 and mode == RDN and (p != 0.0 or float64_bits(p) != float64_bits(c)):
        return float64_bits(-0.0)
    bits = float64_bits(total)
    if bits & MAGNITUDE >= INF_BITS:
        return bits
    back = total - p
    error = (p - (total - back)) + (c - back)
    if error != 0.0 and not bits & 1:
        bits += 1 if (error > 0.0) == (total > 0.0) else -1
    return bits


@called
def finish(binades, order, t, mode, bits, random, width, quiet):
    if bits & MAGNITUDE > INF_BITS:
        return (np.uint32(t.nan[0]), np.uint8(0)) if quiet else (np.uint32(t.nan[1]), np.uint8(_INVALID))
    if bits & MAGNITUDE == INF_BITS:
        return np.uint32(t.infinite[1 if bits < 0 else 0]), np.uint8(0)
    code, flags = round_bits(binades, order, t, mode, bits, random, width, 0)
    if t.flushed_below and (flags & _UNDERFLOW or 0 < code & (t.sign_mask - 1) < t.flushed_below):
        return np.uint32(code & t.sign_mask if t.signed_zero else 0), np.uint8(_UNDERFLOW | _INEXACT)
    return code, flags


@inlined
def fused(binades, order, t, mode, p, c, quiet):
    """Return the code and the exception flags of the rounded sum of a product `p` and an addend `c`."""
    # `quiet` is true if an operand is NaN. A NaN sum then raises no exception flag.
    return finish(binades, order, t, mode, sum_to_odd(p, c, mode), 0, 1, quiet)


@kernel
def fma_array(binades, order, t, mode, a, b, c, codes, flags):
    for i in range(a.size):
        quiet = np.isnan(a[i]) or np.isnan(b[i]) or np.isnan(c[i])
        codes[i], flags[i] = fused(binades, order, t, mode, a[i] * b[i], c[i], quiet)


@inlined
def code_value(table, t, code):
    # For formats of at most 16 bits, a table holds all numbers.
    return table[code] if table.size > 1 else _value_of_fields(t, code)


@inlined
def _value_of_fields(t, code):
    ordinal = (np.int64(code) & (t.sign_mask - 1)) >> t.padding
    field, fraction = ordinal >> t.fraction_bits, ordinal & ((1 << t.fraction_bits) - 1)
    if ordinal > t.max_ordinal:
        magnitude = np.inf if t.has_inf and ordinal == t.max_ordinal + 1 else np.nan
    elif ordinal == 0:
        # A format without -0 has a NaN in its place, or never meets the code.
        magnitude = 0.0 if t.signed_zero or not code & t.sign_mask else np.nan
    elif field == 0 and not t.flushes:
        magnitude = fraction * bits_float64((t.lowest_row - t.fraction_bits) << FRACTION_BITS)
    else:
        row = t.lowest_row + field - (0 if t.flushes else 1)
        magnitude = bits_float64((row << FRACTION_BITS) | (fraction << (FRACTION_BITS - t.fraction_bits)))
    return -magnitude if code & t.sign_mask else magnitude


@kernel
def mac_array(result, op, a, b, c, codes, flags):
    """Run the operations `op` (`engines.MacOp`) on an accumulator that starts at +0."""
    # All arrays have the shape (n,).
    binades, order, t, mode, table = result
    accumulator = np.uint32(0)
    for i in range(op.size):
        flags[i] = 0
        if op[i] == _CLEAR:
            accumulator = np.uint32(0)
        elif op[i] == _ACCUMULATE or op[i] == _LOAD:
            addend = code_value(table, t, accumulator) if op[i] == _ACCUMULATE else c[i]
            quiet = np.isnan(a[i]) or np.isnan(b[i]) or np.isnan(addend)
            accumulator, flags[i] = fused(binades, order, t, mode, a[i] * b[i], addend, quiet)
        codes[i] = accumulator
