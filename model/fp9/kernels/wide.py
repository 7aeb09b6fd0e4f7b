"""Numba kernels that round float32 or float64 numbers to fixed-field formats, with flags."""

from __future__ import annotations

import itertools
from enum import Enum
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
    """Constants of a target format and an overflow policy."""

    fraction_bits: np.uint64
    lowest: np.uint64  # exponent field of the lowest binade with full precision
    flush: np.uint64  # without subnormals 2**fraction_bits, else 0
    padding: np.uint64
    sign_shift: np.uint64
    max_ordinal: np.uint64
    # If bit 63 of `zero`, `overflow`, `infinite` or `nan` is 1, the code gets the sign of the source number.
    zero: np.uint64
    overflow: np.uint64
    infinite: np.uint64
    nan: np.uint64
    infinite_flags: np.uint64
    nan_flags: np.uint64
    tiny_plus: np.uint64  # magnitudes of inexact results below it underflow
    tiny_minus: np.uint64
    # Of unsigned formats alone.
    least: np.uint64 = _ZERO  # float64 pattern of the smallest number of a format without zero, else 0
    bounded: np.uint64 = _ZERO  # 1 if only negative numbers that round to nonzero results are outside the range
    outside: np.uint64 = _ZERO  # code of a number outside the range
    outside_flags: np.uint64 = _ZERO
    minus_infinite: np.uint64 = _ZERO
    minus_infinite_flags: np.uint64 = _ZERO


class WideRounding(NamedTuple):
    """Constants of a rounding mode."""

    # Masks, with all bits 1 or all bits 0, except for `to_even` and `to_odd`.
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


class Signs(Enum):
    """How a format stores signs."""

    SIGN_BIT = "sign bit"
    COMPLEMENT = "two's complement"
    NONE = "no negative numbers"


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


@inlined
def _is_outside(ordinal, magnitude, pattern, t):
    size = ordinal if t.bounded != _ZERO else magnitude
    return magnitude < _INF and ((pattern >= TAKES_SIGN and size != _ZERO) or (magnitude == _ZERO and t.least != _ZERO))


_NEAREST_EVEN, _MINUS_INF = _words(Rounding.RNE), TAKES_SIGN | _INF


def _encoder(to_nearest_even: bool, signs: Signs, flagged: bool) -> Any:
    complement, unsigned = signs is Signs.COMPLEMENT, signs is Signs.NONE

    @kernel
    def encode_wide(numbers, t, rounding, codes, flags):
        r = _NEAREST_EVEN if to_nearest_even else rounding
        narrower = _WIDTH - t.fraction_bits
        for i in range(numbers.size):
            pattern = U(float64_bits(np.float64(numbers[i])))
            magnitude = pattern & _MAGNITUDE
            near = max(magnitude, t.least) if unsigned else magnitude
            field = max(near >> _WIDTH, _ONE)
            significand = (near & _FRACTION) | (_HIDDEN if near >= _HIDDEN else _ZERO)
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
            below = not unsigned and t.flush != _ZERO and (field < t.lowest or ordinal == _ZERO)
            stays = r.keeps_minus if pattern >= TAKES_SIGN else r.keeps_plus
            ordinal = (_ONE & stays if magnitude != _ZERO else _ZERO) if below else ordinal
            code = _code_of(ordinal, magnitude, pattern, t, complement)
            raised = _ZERO
            if flagged:
                dropped = rest != _ZERO or near != magnitude or (below and magnitude != _ZERO)
                raised = _flags_of(dropped, ordinal, magnitude, pattern, t)
            if unsigned:
                outside = _is_outside(ordinal, magnitude, pattern, t)
                code = t.minus_infinite if pattern == _MINUS_INF else t.outside if outside else code
                raised = t.minus_infinite_flags if pattern == _MINUS_INF else t.outside_flags if outside else raised
            codes[i] = code
            if flagged:
                flags[i] = raised

    return encode_wide


ENCODE_WIDE = {key: _encoder(*key) for key in itertools.product((False, True), Signs, (False, True))}
"""Kernels by three keys: whether they round to nearest even, how codes store signs, and whether they give flags.

A kernel for nearest even alone is a third faster.
"""


def wide_encoder(rounding: Rounding, signs: Signs, flagged: bool) -> tuple[Any, WideRounding]:
    """Return the kernel and constants of a rounding mode that needs no random bits."""
    # Beside flags it makes no difference that the rounding is known.
    return ENCODE_WIDE[rounding is Rounding.RNE and not flagged, signs, flagged], _words(rounding)
