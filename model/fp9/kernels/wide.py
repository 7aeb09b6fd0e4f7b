"""Numba kernels that round float32 or float64 numbers to fixed-field formats, with flags."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from fp9.formats.host import BINARY64
from fp9.formats.rounding import Flags, Rounding
from fp9.kernels.bits import float64_bits
from fp9.kernels.compiled import inlined, kernel

U = np.uint64

_MAGNITUDE, _INF, TAKES_SIGN = U(BINARY64.magnitude), U(BINARY64.infinity), U(BINARY64.sign)
_FRACTION, _HIDDEN, _WIDTH = U(BINARY64.fraction), U(BINARY64.hidden), U(BINARY64.fraction_bits)
_ZERO, _ONE, _WIDEST = U(0), U(1), U(63)
_INEXACT, _UNDERFLOW = U(Flags.INEXACT), U(Flags.INEXACT | Flags.UNDERFLOW)
_OVERFLOW = U(Flags.INEXACT | Flags.OVERFLOW)


class WideTarget(NamedTuple):
    """Constants of a target format and an overflow policy. Bit 63 of a code marks results with the sign of the
    source.
    """

    fraction_bits: np.uint64
    lowest: np.uint64  # exponent field of the lowest binade with full precision
    flush: np.uint64  # without subnormals 2**fraction_bits, else 0
    padding: np.uint64
    sign_shift: np.uint64
    max_ordinal: np.uint64
    zero: np.uint64
    overflow: np.uint64
    infinite: np.uint64
    nan: np.uint64
    infinite_flags: np.uint64
    nan_flags: np.uint64
    tiny_plus: np.uint64  # magnitudes of inexact results below it underflow
    tiny_minus: np.uint64


class WideRounding(NamedTuple):
    """Constants of a rounding mode: masks of all ones or 0, and the integers `to_even` and `to_odd`, 1 or 0."""

    nearest: np.uint64
    to_even: np.uint64  # 1 or 0, as `to_odd`
    to_odd: np.uint64
    away_plus: np.uint64
    away_minus: np.uint64
    keeps_plus: np.uint64
    keeps_minus: np.uint64


def _words(rounding: Rounding) -> WideRounding:
    bits = (rounding is Rounding.RNE, rounding is Rounding.RTO)
    moves, keeps = (
        [asks(negative) for negative in (False, True)] for asks in (rounding.moves_away, rounding.keeps_nonzero)
    )
    masks = (~_ZERO if holds else _ZERO for holds in (rounding.is_nearest, *moves, *keeps))
    return WideRounding(next(masks), *map(U, bits), *masks)


@inlined
def _code_of(ordinal, magnitude, pattern, t, complement):
    code = t.zero if ordinal == _ZERO else (ordinal << t.padding) | TAKES_SIGN
    code = t.overflow if ordinal > t.max_ordinal else code
    code = t.infinite if magnitude == _INF else code
    code = t.nan if magnitude > _INF else code
    sign = pattern & code & TAKES_SIGN
    if complement:
        return _ZERO - code if sign != _ZERO else code
    return code | (sign >> t.sign_shift)


@inlined
def _flags_of(dropped, ordinal, magnitude, pattern, t):
    tiny_below = t.tiny_minus if pattern >= TAKES_SIGN else t.tiny_plus
    raised = _UNDERFLOW if magnitude < tiny_below else _INEXACT
    raised = raised if dropped else _ZERO
    raised = _OVERFLOW if ordinal > t.max_ordinal else raised
    raised = t.infinite_flags if magnitude == _INF else raised
    return t.nan_flags if magnitude > _INF else raised


_NEAREST_EVEN = _words(Rounding.RNE)


def _encoder(to_nearest_even: bool, complement: bool, flagged: bool) -> Any:
    @kernel
    def encode_wide(numbers, t, rounding, codes, flags):
        r = _NEAREST_EVEN if to_nearest_even else rounding
        narrower = _WIDTH - t.fraction_bits
        for i in range(numbers.size):
            pattern = U(float64_bits(np.float64(numbers[i])))
            magnitude = pattern & _MAGNITUDE
            field = max(magnitude >> _WIDTH, _ONE)
            significand = (magnitude & _FRACTION) | (_HIDDEN if magnitude >= _HIDDEN else _ZERO)
            level = max(field, t.lowest)
            shift = min(narrower + (level - field), _WIDEST)
            base = ((level - t.lowest) << t.fraction_bits) - t.flush
            below_place = (_ONE << shift) - _ONE
            rest = significand & below_place
            even = r.to_even & ~(base + (significand >> shift))
            away = r.away_minus if pattern >= TAKES_SIGN else r.away_plus
            increment = (r.nearest & ((below_place >> _ONE) + _ONE)) - even
            ordinal = base + ((significand + (increment | (away & below_place))) >> shift)
            ordinal |= r.to_odd if rest != _ZERO else _ZERO
            below = t.flush != _ZERO and (field < t.lowest or ordinal == _ZERO)
            stays = r.keeps_minus if pattern >= TAKES_SIGN else r.keeps_plus
            ordinal = (_ONE & stays if magnitude != _ZERO else _ZERO) if below else ordinal
            codes[i] = _code_of(ordinal, magnitude, pattern, t, complement)
            if flagged:
                flags[i] = _flags_of(rest != _ZERO or (below and magnitude != _ZERO), ordinal, magnitude, pattern, t)

    return encode_wide


ENCODE_WIDE = {key: _encoder(*key) for key in itertools.product((False, True), repeat=3)}
"""Kernels by three truth values: rounding to nearest even, codes in two's complement, and flags.

A kernel for nearest even alone is a third faster.
"""


def wide_encoder(rounding: Rounding, complement: bool, flagged: bool) -> tuple[Any, WideRounding]:
    """Return the kernel and the constants of a rounding mode that needs no random bits."""
    # Beside flags it makes no difference that the rounding is known.
    return ENCODE_WIDE[rounding is Rounding.RNE and not flagged, complement, flagged], _words(rounding)
