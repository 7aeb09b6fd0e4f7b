"""Numba kernels for exact fixed-point sums, which are stored as 32-bit limbs in int64 arrays."""

from __future__ import annotations

import math

import numpy as np

from fp9.formats.host import BINARY64
from fp9.kernels.bits import float64_bits
from fp9.kernels.compiled import called, inlined
from fp9.kernels.round64 import MAGNITUDE

LIMB_BITS = 32
_LIMB_MASK = (1 << LIMB_BITS) - 1
_BIAS, _FRACTION_BITS, _FRACTION = BINARY64.bias, BINARY64.fraction_bits, BINARY64.fraction


@inlined
def deposit(limbs, base, x):
    """Add the finite number `x`, a multiple of 2^`base`, to the fixed-point number `limbs`."""
    bits = float64_bits(x)
    field = (bits & MAGNITUDE) >> _FRACTION_BITS
    mantissa = (bits & _FRACTION) | (np.int64(1) << _FRACTION_BITS if field else 0)
    shift = max(field, 1) - _BIAS - _FRACTION_BITS - base
    if shift < 0:
        mantissa >>= min(-shift, 63)  # zeros: x is a multiple of 2^base
        shift = 0
    sign = np.int64(-1) if bits < 0 else np.int64(1)
    limb, offset = shift // LIMB_BITS, shift % LIMB_BITS
    low = (mantissa & _LIMB_MASK) << offset
    high = (mantissa >> LIMB_BITS) << offset
    limbs[limb] += sign * (low & _LIMB_MASK)
    limbs[limb + 1] += sign * ((low >> LIMB_BITS) + (high & _LIMB_MASK))
    limbs[limb + 2] += sign * (high >> LIMB_BITS)


@called
def carry(limbs):
    """Propagate carries into the last limb, which holds the sign."""
    for i in range(limbs.size - 1):
        limbs[i + 1] += limbs[i] >> LIMB_BITS
        limbs[i] &= _LIMB_MASK


@called
def limbs_to_odd(limbs, base):
    """Return the fixed-point number as float64, rounded to odd, and clear the limbs."""
    carry(limbs)
    negative = limbs[-1] < 0
    if negative:
        for i in range(limbs.size):
            limbs[i] = -limbs[i]
        carry(limbs)
    top = limbs.size - 1
    while top > 0 and limbs[top] == 0:
        top -= 1
    mantissa, exponent, kept = np.int64(0), base + LIMB_BITS * (top + 1), 0
    sticky = False
    # The highest 53 bits, limb by limb from the first that is not 0.
    for i in range(top, -1, -1):
        width = LIMB_BITS if i < top else LIMB_BITS - _leading_zeros(limbs[i])
        if i == top:
            exponent -= LIMB_BITS - width
        take = min(width, _FRACTION_BITS + 1 - kept)
        mantissa = (mantissa << take) | (limbs[i] >> (width - take))
        sticky |= (limbs[i] & ((np.int64(1) << (width - take)) - 1)) != 0
        kept += take
        exponent -= take
        limbs[i] = 0
    value = math.ldexp(np.float64(mantissa | (1 if sticky else 0)), exponent)
    return -value if negative else value


@inlined
def _leading_zeros(limb):
    zeros = LIMB_BITS
    while limb:
        limb >>= 1
        zeros -= 1
    return zeros
