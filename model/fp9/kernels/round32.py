"""Vectorised Numba kernels that convert float32 patterns to codes.

All arithmetic is on 32-bit vector lanes, without branches or table look-ups. Every step casts its result to `U`
(uint32), because Numba widens uint32 sums to 64 bits.

The `ordinal` of a magnitude is its index in the format's list of magnitudes, with 0 for zero:

    ordinal = base(binade) + (significand >> shift)    and 1 more if the dropped bits round up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fp9.formats.host import BINARY32
from fp9.formats.rounding import Flags, Rounding
from fp9.kernels.bits import bits_float32, float32_bits
from fp9.kernels.compiled import inlined, kernel
from fp9.kernels.floats import odd_sum

U = np.uint32

_MAGNITUDE, _INF, _NEGATIVE = U(BINARY32.magnitude), U(BINARY32.infinity), U(BINARY32.sign)
_FRACTION, _HIDDEN, _WIDTH = U(BINARY32.fraction), U(BINARY32.hidden), U(BINARY32.fraction_bits)
_ZERO, _ONE, _WORD, _WIDEST = U(0), U(1), U(32), U(31)


class Grid(NamedTuple):
    """Constants of a target format with fixed fields."""

    fraction_bits: np.uint32
    lowest: np.uint32  # exponent field of the lowest binade with full precision
    flush: np.uint32  # without subnormals 2**fraction_bits, else 0
    random_width: np.uint32


class Edges(NamedTuple):
    """Codes that a cast writes for zero, overflow, infinity and NaN."""

    max_ordinal: np.uint32
    sign_shift: np.uint32  # from float32's sign to the format's
    # If bit 31 of these codes is 1, the code gets the sign of the source number.
    zero: np.uint32
    overflow: np.uint32
    infinite: np.uint32
    nan: np.uint32


class Limits(NamedTuple):
    """Thresholds of the exception flags, as float32 patterns without the sign bit."""

    tiny_below: np.uint32  # inexact results below it underflow
    overflow_from: np.uint32


TAKES_SIGN = U(BINARY32.sign)
QUIET_NAN, INVALID_NAN = U(BINARY32.quiet_nan), U(BINARY32.sign | BINARY32.quiet_nan)
"""Float32 patterns of NaN results: one for a NaN operand, and one for an invalid operation."""


@inlined
def code_of(ordinal, magnitude, pattern, e, complement):
    code = e.zero if ordinal == _ZERO else U(ordinal | TAKES_SIGN)
    code = e.overflow if ordinal > e.max_ordinal else code
    code = e.infinite if magnitude == _INF else code
    code = e.nan if magnitude > _INF else code
    sign = U(pattern & U(code & TAKES_SIGN))
    if complement:
        return U(_ZERO - code) if sign != _ZERO else code
    return U(code | U(sign >> U(e.sign_shift & _WIDEST)))


@inlined
def narrowing(grid, magic):
    return U(U(_WIDTH - grid.fraction_bits) & _WIDEST), U(grid.lowest << _WIDTH), bits_float32(magic)


@inlined
def nearest_even(magnitude, shift, lowest, offset, magic, magic_number):
    normal = U(U(U(magnitude + offset) + U(U(magnitude >> shift) & _ONE)) >> shift)
    # Far above, the sum is no longer a count of quanta; such lanes take the other result.
    subnormal = U(float32_bits(bits_float32(magnitude) + magic_number) - magic)
    return subnormal if magnitude < lowest else normal


@kernel
def encode_nearest_even(patterns, magic, offset, grid, edges, codes):
    """Round float32 patterns (uint32, shape (n,)) to nearest even, and write the codes."""
    # The target format must have subnormals and at least one fraction bit. `magic` is 2^23 times the smallest
    # subnormal. With p = `grid.fraction_bits` and e = `grid.lowest`, `offset` is 2^(22 - p) - 1 - (e - 1) * 2^23 modulo
    # 2^32.
    shift, lowest, magic_number = narrowing(grid, magic)
    for i in range(patterns.size):
        pattern = patterns[i]
        magnitude = U(pattern & _MAGNITUDE)
        ordinal = nearest_even(magnitude, shift, lowest, offset, magic, magic_number)
        codes[i] = code_of(ordinal, magnitude, pattern, edges, False)


def _fixed_encoder(rounding: Rounding, complement: bool) -> Any:
    nearest, to_even = rounding.is_nearest, rounding is Rounding.RNE
    upward, downward = (rounding.moves_away(negative) for negative in (False, True))
    keeps_plus, keeps_minus = (rounding.keeps_nonzero(negative) for negative in (False, True))
    to_odd, stochastic = rounding is Rounding.RTO, rounding.needs_bits

    @kernel
    def encode_fixed(patterns, randoms, grid, edges, codes):
        narrower = U(_WIDTH - grid.fraction_bits)
        for i in range(patterns.size):
            pattern = patterns[i]
            magnitude = U(pattern & _MAGNITUDE)
            field = max(U(magnitude >> _WIDTH), _ONE)
            significand = U(U(magnitude & _FRACTION) | (_HIDDEN if magnitude >= _HIDDEN else _ZERO))
            level = max(field, grid.lowest)
            distance = U(narrower + U(level - field))
            shift = min(distance, _WIDEST)
            base = U(U(U(level - grid.lowest) << U(grid.fraction_bits & _WIDEST)) - grid.flush)
            increment = _ZERO
            if nearest:
                increment = U(_ONE << U(shift - _ONE))
            if to_even:
                kept = U(base + U(significand >> shift))
                increment = U(U(increment - _ONE) + U(kept & _ONE))
            away = (upward and pattern < _NEGATIVE) or (downward and pattern >= _NEGATIVE)
            if upward or downward:
                increment = U(U(_ONE << shift) - _ONE) if away else _ZERO
            ordinal = U(base + U(U(significand + increment) >> shift))
            if to_odd:
                inexact = U(significand & U(U(_ONE << shift) - _ONE)) != _ZERO
                ordinal = U(ordinal | (_ONE if inexact else _ZERO))
            if stochastic:
                # The dropped bits as a fraction of 32 bits, and the random bits above each other: up on a carry.
                reach = min(distance, _WORD)
                dropped = U(U(significand << U(U(_WORD - reach) & _WIDEST)) >> min(U(distance - reach), _WIDEST))
                total = U(dropped + U(U(randoms[i]) << U(U(_WORD - grid.random_width) & _WIDEST)))
                ordinal = U(ordinal + (_ONE if total < dropped else _ZERO))
            below = grid.flush != _ZERO and (field < grid.lowest or ordinal == _ZERO)
            stays = (keeps_plus and pattern < _NEGATIVE) or (keeps_minus and pattern >= _NEGATIVE)
            tiny = _ONE if stays and magnitude != _ZERO else _ZERO
            ordinal = tiny if below else ordinal
            codes[i] = code_of(ordinal, magnitude, pattern, edges, complement)

    return encode_fixed


ENCODE_FIXED = {
    (rounding, complement): _fixed_encoder(rounding, complement)
    for rounding in Rounding
    if not rounding.reads_source and (rounding.is_carry or not rounding.needs_bits)
    for complement in (False, True)
}
"""Kernels that encode float32 patterns in fixed-field formats, by rounding and by whether codes are in two's
complement.
"""


@kernel
def encode_upper(patterns, table, codes):
    """Look up codes by the upper 16 bits of float32 patterns, and return whether a number was NaN."""
    # The lower 16 bits must not change the rounded result. After True, the caller must discard `codes`, because a NaN
    # can have the same upper 16 bits as infinity.
    largest = _ZERO
    for i in range(patterns.size):
        pattern = patterns[i]
        codes[i] = table[pattern >> U(16)]
        largest = max(largest, U(pattern & _MAGNITUDE))
    return largest > _INF


@kernel
def encode_upper_sticky(patterns, table, codes):
    """Round float32 patterns to 16 bits with rounding to odd, and look up the codes of the rounded patterns."""
    for i in range(patterns.size):
        pattern = patterns[i]
        codes[i] = table[(pattern >> U(16)) | (_ONE if pattern & U(0xFFFF) else _ZERO)]


@kernel
def look_up_flagged(patterns, table, shift, codes, flags):
    """Shorten patterns by `shift` bits with rounding to odd, and look up the codes and flags of the results."""
    below = U((1 << shift) - 1)
    for i in range(patterns.size):
        pattern = U(patterns[i])
        # An entry holds the code in its low 16 bits, and the flags from bit 16 on.
        entry = table[U(pattern >> U(shift & 31)) | (_ONE if pattern & below else _ZERO)]
        codes[i] = entry
        flags[i] = entry >> U(16)


@kernel
def look_up(codes, table, numbers):
    for i in range(codes.size):
        numbers[i] = table[codes[i]]


_HIGHEST = (1 << 15) - 1


@kernel
def survey(codes, finite, lowest, highest):
    """Return whether all codes are finite, the minimum of `lowest[codes]`, and the maximum of `highest[codes]`."""
    met = np.zeros(finite.size, dtype=np.bool_)
    for i in range(codes.size):
        met[codes[i]] = True
    is_finite, low, high = True, np.int64(_HIGHEST), np.int64(-_HIGHEST)
    for code in range(met.size):
        if met[code]:
            is_finite &= finite[code]
            low, high = min(low, np.int64(lowest[code])), max(high, np.int64(highest[code]))
    return is_finite, low, high


@inlined
def _narrowed(number):
    nearest = np.float32(number)
    back = np.float64(nearest)
    pattern = float32_bits(nearest)
    pattern = U(pattern - _ONE) if abs(back) > abs(number) else pattern
    return U(pattern | _ONE) if back != number else pattern


@kernel
def narrow_to_odd(numbers, patterns):
    """Convert float64 numbers to float32 patterns, rounded to odd."""
    # After rounding to odd, a second rounding to fewer bits is correct (Boldo and Melquiond, "When double rounding is
    # odd", IMACS 2005).
    for i in range(numbers.size):
        patterns[i] = _narrowed(numbers[i])


@kernel
def sums_to_odd(table_a, table_b, table_c, a, b, c, patterns):
    """Write the sums a * b + c of codes as float32 patterns rounded to odd."""
    for i in range(patterns.size):
        x, y, addend = table_a[a[i]], table_b[b[i]], table_c[c[i]]
        product = x * y
        plain = product + addend
        total = odd_sum(product, addend)
        pattern = _narrowed(total if abs(plain) < np.inf else plain)
        quiet = x != x or y != y or addend != addend
        pattern = pattern if plain == plain else INVALID_NAN
        patterns[i] = QUIET_NAN if quiet else pattern


_INEXACT, _UNDERFLOW, _OVERFLOW, _INVALID = (
    np.uint8(flag) for flag in (Flags.INEXACT, Flags.UNDERFLOW, Flags.OVERFLOW, Flags.INVALID)
)


@kernel
def raise_flags(patterns, grid, limits, flags):
    """Write to `flags` the exception flags of a cast from float32 that rounds to nearest or toward zero."""
    narrower = U(_WIDTH - grid.fraction_bits)
    smallest = U(grid.lowest << _WIDTH)
    for i in range(patterns.size):
        pattern = patterns[i]
        magnitude = U(pattern & _MAGNITUDE)
        field = max(U(magnitude >> _WIDTH), _ONE)
        significand = U(U(magnitude & _FRACTION) | (_HIDDEN if magnitude >= _HIDDEN else _ZERO))
        shift = min(U(narrower + U(max(field, grid.lowest) - field)), _WIDEST)
        dropped = U(significand & U(U(_ONE << shift) - _ONE))
        # Without subnormals the place of the lowest power of two is that of zero.
        dropped = magnitude if grid.flush != _ZERO and magnitude <= smallest else dropped
        raised = _INEXACT if dropped != _ZERO else np.uint8(0)
        raised |= _UNDERFLOW if dropped != _ZERO and magnitude < limits.tiny_below else np.uint8(0)
        raised = _OVERFLOW | _INEXACT if magnitude >= limits.overflow_from else raised
        raised = np.uint8(0) if magnitude >= _INF else raised
        flags[i] = _INVALID if pattern == INVALID_NAN else raised
