"""Numba kernel for a Kulisch accumulator: an exact fixed-point sum with rounded results."""

from __future__ import annotations

import math

import numpy as np

from fp9.engines import MacOp
from fp9.kernels.bits import float64_bits
from fp9.kernels.compiled import called, kernel
from fp9.kernels.fused import finish
from fp9.kernels.limbs import LIMB_BITS, carry, deposit, limbs_to_odd
from fp9.kernels.round64 import RDN

_ACCUMULATE, _LOAD, _CLEAR = int(MacOp.ACCUMULATE), int(MacOp.LOAD), int(MacOp.CLEAR)


@called
def _wrap(limbs, bits):
    carry(limbs)
    top, place = (bits - 1) // LIMB_BITS, (bits - 1) % LIMB_BITS
    kept = limbs[top] & ((np.int64(1) << (place + 1)) - 1)
    limbs[top] = kept - (np.int64(1) << (place + 1)) if kept >> place else kept
    limbs[top + 1 :] = 0


@kernel
def kulisch_array(rounding, lowest, bits, op, a, b, codes, flags):
    """Run the operations `op` (n,) on a fixed-point accumulator of `bits` bits."""
    # The lowest bit has the weight 2^`lowest`. The operands `a` and `b` (n, products) are float64 numbers.
    binades, order, t, mode = rounding
    limbs = np.zeros(bits // LIMB_BITS + 4, dtype=np.int64)
    special, quiet, cancelled = 0.0, False, False
    for i in range(op.size):
        if op[i] == _LOAD or op[i] == _CLEAR:
            limbs[:] = 0
            special, quiet, cancelled = 0.0, False, False
        if op[i] == _LOAD or op[i] == _ACCUMULATE:
            for k in range(a.shape[1]):
                p = a[i, k] * b[i, k]
                if math.isfinite(p):
                    cancelled |= p != 0.0 or math.copysign(1.0, p) < 0.0
                    deposit(limbs, lowest, p)
                else:
                    special += p
                    quiet |= p != p and (a[i, k] != a[i, k] or b[i, k] != b[i, k])
            _wrap(limbs, bits)
        value = limbs_to_odd(limbs.copy(), lowest)
        if special != 0.0:
            value = special
        elif value == 0.0 and cancelled and mode == RDN:
            value = -0.0
        codes[i], flags[i] = finish(binades, order, t, mode, float64_bits(value), 0, 1, quiet)
