"""Numba kernels of blocks: amax, scale and elements of each block, while it lies in the cache.

All take float32 patterns (uint32) of shape (blocks, length), and work on magnitude patterns, whose order is that of the
numbers: the largest of a block says by itself whether there is an infinity or a NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fp9.formats.host import BINARY32
from fp9.kernels.bits import bits_float32, float32_bits, float64_bits
from fp9.kernels.compiled import inlined, kernel
from fp9.kernels.round64 import round_bits

U = np.uint32
_MAGNITUDE, _INF, _WIDTH = U(BINARY32.magnitude), U(BINARY32.infinity), U(BINARY32.fraction_bits)
_FRACTION, _ZERO, _ONE, _WIDEST = U(BINARY32.fraction), U(0), U(1), U(31)
_LIFT = 24
"""Binades by which a subnormal amax is lifted, so that its exponent stands in the field."""


class Steps(NamedTuple):
    """How a power-of-two scale follows from amax 2^e (1 + f / 2^23), all int64.

    The code is e + `offset`, and one more if f reaches the threshold of an even code, or of an odd one; within
    0..`largest`.
    """

    offset: int
    from_even: int
    from_odd: int
    largest: int
    nan: int


class Grid(NamedTuple):
    """The elements' format in terms of float32, each an uint32 (see `round32.encode_nearest_even`)."""

    magic: np.uint32
    offset: np.uint32
    shift: np.uint32
    lowest: np.uint32  # pattern of the lowest number with full precision
    max_ordinal: np.uint32
    sign_shift: np.uint32


@inlined
def _amax(row):
    top = _ZERO
    for i in range(row.size):
        top = max(top, U(row[i] & _MAGNITUDE))
    return top


@inlined
def _power_code(top, s):
    """Code of a power-of-two scale by the pattern of a finite amax; 0 for zero."""
    if top == _ZERO:
        return 0
    lifted = top
    code = np.int64(s.offset)
    if top < U(_FRACTION + _ONE):
        lifted = float32_bits(bits_float32(top) * np.float32(2.0**_LIFT))
        code -= _LIFT
    code += np.int64(lifted >> _WIDTH)
    threshold = s.from_odd if code & 1 else s.from_even
    code += 1 if np.int64(lifted & _FRACTION) >= threshold else 0
    return min(max(code, 0), s.largest)


@inlined
def _reciprocal(code):
    """2^(127 - code), for the codes 0..254."""
    field = U(254 - code)
    return bits_float32(U(field << _WIDTH) if field else U(1 << 22))


@inlined
def _nearest_even(row, reciprocal, g, out):
    """Codes of row * reciprocal to nearest even, in a format with subnormals, saturated."""
    magic = bits_float32(g.magic)
    for i in range(row.size):
        pattern = float32_bits(bits_float32(row[i]) * reciprocal)
        magnitude = U(pattern & _MAGNITUDE)
        shift = U(g.shift & _WIDEST)
        normal = U(U(U(magnitude + g.offset) + U(U(magnitude >> shift) & _ONE)) >> shift)
        subnormal = U(float32_bits(bits_float32(magnitude) + magic) - g.magic)
        ordinal = min(subnormal if magnitude < g.lowest else normal, g.max_ordinal)
        sign = U(U(pattern >> _WIDEST) << U(g.sign_shift & _WIDEST))
        out[i] = U(ordinal | sign)


@kernel
def scaled_floats(patterns, s, g, scales, codes):
    """Blocks of floating-point elements with power-of-two scales."""
    for block in range(patterns.shape[0]):
        row, out = patterns[block], codes[block]
        top = _amax(row)
        if top >= _INF:
            scales[block] = s.nan
            out[:] = 0
        else:
            code = _power_code(top, s)
            scales[block] = code
            _nearest_even(row, _reciprocal(code), g, out)


@inlined
def _integers(row, reciprocal, unit, largest, out):
    for i in range(row.size):
        number = np.rint(bits_float32(row[i]) * reciprocal * unit)
        out[i] = np.uint8(np.int32(min(max(number, -largest), largest)))


@kernel
def scaled_integers(patterns, s, unit, largest, scales, codes):
    """Blocks of integers n / unit in two's complement, -largest..largest, with power-of-two scales."""
    for block in range(patterns.shape[0]):
        row, out = patterns[block], codes[block]
        top = _amax(row)
        if top >= _INF:
            scales[block] = s.nan
            out[:] = 0
        else:
            code = _power_code(top, s)
            scales[block] = code
            _integers(row, _reciprocal(code), unit, largest, out)


@inlined
def _threshold(product, at_equality):
    """Pattern of the smallest float32 that is above a positive number, or equal to it where that counts."""
    near = np.float32(product)
    short = np.float64(near) < product if at_equality else np.float64(near) <= product
    return U(float32_bits(near) + (_ONE if short else _ZERO))


@inlined
def _counted(row, limits, sign_shift, out):
    for i in range(row.size):
        magnitude = U(row[i] & _MAGNITUDE)
        code = U(U(row[i] >> _WIDEST) << U(sign_shift & _WIDEST))
        for k in range(limits.size):
            code = U(code + (_ONE if magnitude >= limits[k] else _ZERO))
        out[i] = code


@inlined
def _limits(limits, middles, factor):
    """From which patterns on a number has the codes 1 to 7 or more; beyond all numbers where the factor is 0."""
    for k in range(limits.size):
        limits[k] = _threshold(middles[k] * factor, k & 1) if factor > 0.0 else U(_INF + _ONE)


@kernel
def counted(binades, order, t, mode, table, patterns, divisor, tensor_scale, middles, sign_shift, scales, codes):
    """Blocks of elements of seven magnitudes above zero (FP4) whose scale is amax / divisor, rounded by a table.

    `table` holds the scales' numbers by code, `middles` (7,) the numbers between two neighbours of the elements, from
    zero up; a tie goes to the even code. A limit is exact: the product of a middle and both scales has at most 53 bits,
    and the pattern of the next float32 stands for it. A scale of 0 gives zeros with their signs.
    """
    limits = np.empty(7, dtype=np.uint32)
    for block in range(patterns.shape[0]):
        row, out = patterns[block], codes[block]
        top = _amax(row)
        if top >= _INF:
            scales[block] = t.nan[0]
            out[:] = 0
        else:
            quotient = np.float64(bits_float32(top)) / divisor
            code, _ = round_bits(binades, order, t, mode, float64_bits(quotient), 0, 1, 0)
            scales[block] = code
            _limits(limits, middles, table[code] * tensor_scale)
            _counted(row, limits, sign_shift, out)
