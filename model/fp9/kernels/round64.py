"""Numba kernels that round float64 patterns to codes, with a format's rounding table."""

from __future__ import annotations

import numpy as np

from fp9.formats import HiFloat8
from fp9.formats.host import BINARY64
from fp9.formats.rounding import Flags, Hybrid, Rounding
from fp9.kernels.compiled import inlined, kernel

RNE, RNA, RTZ, RUP, RDN, RTO, SR, HYBRID, SRB, SRC, BIAS = range(11)
MODES = {
    Rounding.RNE: RNE,
    Rounding.RNA: RNA,
    Rounding.RTZ: RTZ,
    Rounding.RUP: RUP,
    Rounding.RDN: RDN,
    Rounding.RTO: RTO,
    Rounding.SR: SR,
    Rounding.HYBRID: HYBRID,
    Rounding.SRB: SRB,
    Rounding.SRC: SRC,
    Rounding.BIAS: BIAS,
}

HYBRID_STRICT, HYBRID_DOC = 1, 2

FRACTION_BITS, MAGNITUDE, INF_BITS = BINARY64.fraction_bits, BINARY64.magnitude, BINARY64.infinity
_BIAS, _FRACTION, _HIDDEN = BINARY64.bias, BINARY64.fraction, BINARY64.hidden
_WIDEST = 63
_INEXACT, _UNDERFLOW, _OVERFLOW = (int(f) for f in (Flags.INEXACT, Flags.UNDERFLOW, Flags.OVERFLOW))
_TIES_AWAY_BELOW, _STAYS_BELOW = HiFloat8.STOCHASTIC_FROM, -HiFloat8.DENORMAL_OFFSET
_CERTAIN = int(np.float64(float(HiFloat8.CERTAIN_OVERFLOW)).view(np.int64))


def switches_of(hybrid: Hybrid) -> int:
    return hybrid.strict * HYBRID_STRICT | hybrid.doc_overflow * HYBRID_DOC


@inlined
def _dropped_field(rest: int, shift: int, width: int) -> int:
    distance = shift - width
    return rest >> min(distance, _WIDEST) if distance >= 0 else rest << -distance


@inlined
def _nearest_field(rest, shift, width):
    field, distance = _dropped_field(rest, shift, width), shift - width
    if not 0 < distance <= _WIDEST - 1:
        return field
    half = np.int64(1) << (distance - 1)
    below = rest & ((half << 1) - 1)
    return field + 1 if below > half or (below == half and field & 1) else field


@inlined
def _rounds_up(mode, magnitude, negative, odd, rest, shift, random, width, switches):
    if mode in (RNE, RNA):
        if shift > _WIDEST - 1:
            return False
        half = np.int64(1) << max(shift - 1, 0)
        return rest > half or (rest == half and rest != 0 and (mode == RNA or odd))
    if mode == RTZ:
        return False
    if mode == RUP:
        return rest != 0 and not negative
    if mode == RDN:
        return rest != 0 and negative
    if mode == RTO:
        return rest != 0 and not odd
    if mode == SRC:
        return _nearest_field(rest, shift, width) + random >= np.int64(1) << width
    if mode == SRB:
        return _dropped_field(rest, shift, width + 1) + 2 * random + 1 >= np.int64(2) << width
    field = _dropped_field(rest, shift, width)
    if mode in (SR, BIAS):
        return field + random >= np.int64(1) << width
    exponent = (magnitude >> FRACTION_BITS) - _BIAS
    if -_TIES_AWAY_BELOW < exponent < _TIES_AWAY_BELOW:
        return rest >= np.int64(1) << (shift - 1)
    if exponent < _STAYS_BELOW:
        return False
    if magnitude >= _CERTAIN and not switches & HYBRID_DOC:
        return True
    return field > random if switches & HYBRID_STRICT else field >= random


@inlined
def _is_tiny(binades, t, mode, magnitude, negative, ordinal, random, width, switches):
    """Return whether an inexact result is tiny after rounding with an unbounded exponent (IEEE 754)."""
    row = magnitude >> FRACTION_BITS
    if not t.can_underflow or row > t.lowest_row:
        return False
    if t.flushes:
        return row < t.lowest_row or ordinal == 0
    if row < t.lowest_row - 1:
        return True
    if row == t.lowest_row:
        return False
    # One binade below the normal numbers: tiny unless a rounding at full precision carries into them.
    shift = binades[t.lowest_row, 0]
    significand = (magnitude & _FRACTION) | _HIDDEN
    kept = significand >> shift
    rest = significand & ((np.int64(1) << shift) - 1)
    lifted = magnitude + (np.int64(2) << FRACTION_BITS)
    # Without a fraction the code's last bit is the exponent's, and that of the place below the first is 0.
    odd = kept & 1 if shift < FRACTION_BITS else 0
    up = _rounds_up(mode, lifted, negative, odd, rest, shift, random, width, switches)
    return not (up and kept + 1 == np.int64(2) << (FRACTION_BITS - shift))


@inlined
def _biased(binades, t, mode, row, significand, random, width):
    # Random bits are added below the last bit of a normal result.
    shift = binades[t.lowest_row, 0]
    kept = significand >> shift
    lost = significand - (kept << shift)
    if _rounds_up(mode, np.int64(0), False, 0, lost, shift, random, width, 0):
        kept += 1
    carried = kept >> (FRACTION_BITS + 1 - shift)
    return row + carried, (kept << shift) >> carried, lost


@inlined
def round_bits(binades, order, t, mode, bits, random, width, switches):
    magnitude = bits & MAGNITUDE
    negative = bits < 0
    side = 1 if negative else 0
    if magnitude >= INF_BITS:
        if magnitude > INF_BITS:
            return np.uint32(t.nan[side]), np.uint8(t.nan_flags[side])
        return np.uint32(t.infinite[side]), np.uint8(t.infinite_flags[side])
    row = magnitude >> FRACTION_BITS
    significand = (magnitude & _FRACTION) | (_HIDDEN if row else 0)
    lost = np.int64(0)
    if mode == BIAS:
        row, significand, lost = _biased(binades, t, mode, row, significand, random, width)
    shift = binades[row, 0]
    kept = significand >> min(shift, _WIDEST)
    rest = significand - (kept << min(shift, _WIDEST))
    ordinal = binades[row, 1] + kept
    flags = 0
    up = mode != BIAS and magnitude != 0
    if up and _rounds_up(mode, magnitude, negative, ordinal & 1, rest, shift, random, width, switches):
        ordinal += 1
        # Only hybrid rounding moves a number that the format holds.
        flags = _INEXACT
    rest |= lost
    if ordinal > t.max_ordinal or (negative and ordinal != 0 and t.ends_at_zero):
        return np.uint32(t.overflow[side]), np.uint8(_OVERFLOW | _INEXACT)
    if rest != 0 or (t.flushes and ordinal == 0 and magnitude != 0):
        flags = _INEXACT
    if flags and _is_tiny(binades, t, mode, magnitude, negative, ordinal, random, width, switches):
        flags |= _UNDERFLOW
    if t.flushes and ordinal == 0 and magnitude != 0 and mode in (RTO, RDN if negative else RUP):
        ordinal = 1
    return _signed_code(order, t, ordinal, negative), np.uint8(flags)


@inlined
def _signed_code(order, t, ordinal, negative):
    code = np.uint32(order[ordinal]) if order.size else np.uint32(ordinal << t.padding)
    if negative and t.twos_complement:
        return np.uint32(-ordinal & 0xFF)
    if negative and (ordinal != 0 or t.signed_zero):
        return np.uint32(code | t.sign_mask)
    return code


@kernel
def encode_bits(binades, order, t, mode, patterns, randoms, width, switches, codes, flags):
    """Round float64 patterns, and write the result codes to `codes` and the exception flags to `flags`."""
    # `patterns` is an int64 array of the shape (n,). If `flags` is empty, the kernel writes no flags.
    for i in range(patterns.size):
        # Random bits or hybrid thresholds: one integer for each pattern, or a single integer for all.
        random = randoms[i] if randoms.size > 1 else randoms[0]
        code, raised = round_bits(binades, order, t, mode, patterns[i], random, width, switches)
        codes[i] = code
        if flags.size:
            flags[i] = raised
