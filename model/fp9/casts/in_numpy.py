"""Casts by NumPy operations, for processes that have not loaded the compiled kernels.

The casts give the same results as the kernel `kernels.round64`, for the rounding modes that need neither random bits
nor a threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.request import Plan, Request, Supplied, widened, within
from fp9.casts.tables import Rows, Target, rounding_rows, rounding_target
from fp9.formats.host import BINARY64
from fp9.formats.rounding import Flags, Rounding
from fp9.system.parallel import CACHED

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WIDEST = 63

# Arguments: the dropped bits, half a last place in units of the dropped bits, whether the kept part is odd, and
# whether the number is negative.
_ROUNDS_UP: dict[Rounding, Callable[[Any, Any, Any, Any], Any]] = {
    Rounding.RNE: lambda rest, half, odd, negative: (rest > half) | ((rest == half) & odd),
    Rounding.RNA: lambda rest, half, odd, negative: rest >= half,
    Rounding.RTZ: lambda rest, half, odd, negative: np.bool_(False),
    Rounding.RUP: lambda rest, half, odd, negative: ~negative,
    Rounding.RDN: lambda rest, half, odd, negative: negative,
    Rounding.RTO: lambda rest, half, odd, negative: ~odd,
}


def supports(rounding: Rounding) -> bool:
    return rounding in _ROUNDS_UP


def plan_of(request: Request) -> Plan:
    """Return an encoding plan for a rounding mode that `supports` accepts."""
    rows, target = rounding_rows(request.fmt), rounding_target(request.fmt, request.policy)

    def encode(
        supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]
    ) -> None:
        numbers, raised = within(request.fmt, widened(source, request, supplied, part))
        codes[...], found = round_numbers(rows, target, request.rounding, numbers)
        if flags.size:
            flags[...] = found | raised

    return Plan(encode, CACHED)


def round_numbers(
    rows: Rows, t: Target, rounding: Rounding, numbers: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    bits = numbers.view(np.int64)
    magnitude, negative = bits & BINARY64.magnitude, bits < 0
    row = magnitude >> BINARY64.fraction_bits
    significand = (magnitude & BINARY64.fraction) | np.where(row > 0, BINARY64.hidden, 0)
    shift, base = np.moveaxis(rows.binades[row], -1, 0)
    kept, rest = _split(significand, shift)
    ordinal = base + kept
    ordinal += _rounds_up(rounding, rest, shift, ordinal & 1 == 1, negative)
    lost = (ordinal == 0) & (magnitude > 0) & t.flushes
    inexact = (rest > 0) | lost
    flags = np.where(inexact, int(Flags.INEXACT), 0)
    flags[inexact & _is_tiny(rows, t, rounding, row, significand, ordinal, negative)] |= int(Flags.UNDERFLOW)
    ordinal[lost & _rounds_up(rounding, np.int64(1), np.int64(_WIDEST), np.bool_(False), negative)] = 1
    above = (ordinal > t.max_ordinal) | (negative & (ordinal > 0) & t.ends_at_zero)
    codes = _signed_codes(rows.order, t, np.where(above, 0, ordinal), negative)
    side = negative.astype(np.intp)
    ends = (
        (above, t.overflow, (int(Flags.OVERFLOW | Flags.INEXACT),) * 2),
        (magnitude == BINARY64.infinity, t.infinite, t.infinite_flags),
        (magnitude > BINARY64.infinity, t.nan, t.nan_flags),
    )
    for where, code, raised in ends:
        if where.any():
            codes, flags = np.where(where, np.take(code, side), codes), np.where(where, np.take(raised, side), flags)
    return codes, flags.astype(np.uint8)


def _split(significand: Any, shift: Any) -> tuple[Any, Any]:
    shift = np.minimum(shift, _WIDEST)
    kept = significand >> shift
    return kept, significand - (kept << shift)


def _rounds_up(rounding: Rounding, rest: Any, shift: Any, odd: Any, negative: Any) -> Any:
    half = np.int64(1) << np.clip(shift - 1, 0, _WIDEST - 1)
    return (rest > 0) & _ROUNDS_UP[rounding](rest, half, odd, negative)


def _is_tiny(rows: Rows, t: Target, rounding: Rounding, row: Any, significand: Any, ordinal: Any, negative: Any) -> Any:
    """Return which inexact results are tiny after rounding with an unbounded exponent (IEEE 754-2019 section 7.5)."""
    if not t.can_underflow:
        return np.bool_(False)
    if t.flushes:
        return (row < t.lowest_row) | ((row == t.lowest_row) & (ordinal == 0))
    # One binade below the normal numbers: tiny unless a rounding at full precision carries into them.
    shift = int(rows.binades[t.lowest_row, 0])
    kept, rest = _split(significand, shift)
    odd = (kept & 1 == 1) & (shift < BINARY64.fraction_bits)
    up = _rounds_up(rounding, rest, np.int64(shift), odd, negative)
    carries = up & (kept + 1 == 2 << (BINARY64.fraction_bits - shift))
    return (row < t.lowest_row - 1) | ((row == t.lowest_row - 1) & ~carries)


def _signed_codes(order: NDArray[np.uint32], t: Target, ordinal: Any, negative: Any) -> NDArray[np.int64]:
    codes: NDArray[np.int64] = order[ordinal].astype(np.int64) if order.size else ordinal << t.padding
    if t.twos_complement:
        return np.where(negative, -ordinal & (2 * t.sign_mask - 1), codes)
    return codes | np.where(negative & ((ordinal > 0) | t.signed_zero), t.sign_mask, 0)
