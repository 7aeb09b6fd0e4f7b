"""Numba kernels for block casts of float32 bit patterns, given as uint32 arrays of shape (blocks, length)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fp9.formats.host import BINARY32
from fp9.kernels.bits import bits_float32, bits_float64, float32_bits, float64_bits
from fp9.kernels.compiled import called, inlined, kernel

U = np.uint32
_S = np.int32
_MAGNITUDE, _INF, _WIDTH = U(BINARY32.magnitude), U(BINARY32.infinity), U(BINARY32.fraction_bits)
_FRACTION, _ZERO, _ONE, _WIDEST = U(BINARY32.fraction), U(0), U(1), U(31)
_LIFT = 24
"""A subnormal amax is multiplied by 2^_LIFT, so that its exponent field is not 0."""


class Steps(NamedTuple):
    """Constants for computing a block's scale code from the largest magnitude, 2^e (1 + f / 2^23)."""

    # The scale code is c = e + 127 + `offset`, or c + 1 if f reaches the threshold for even c or for odd c.
    offset: int
    from_even: int
    from_odd: int
    largest: int  # scale codes are clamped to 0..`largest`
    nan: int  # scale code of a block with an infinity or NaN


class Grid(NamedTuple):
    """Constants for encoding float32 patterns in the element format (see `round32.encode_nearest_even`)."""

    magic: np.uint32
    offset: np.uint32
    shift: np.uint32
    lowest: np.uint32  # pattern of the lowest number with full precision
    max_ordinal: np.uint32
    sign_shift: np.uint32


_TILE = 1 << 14
"""Number of patterns in a tile. A tile stays in the cache while its scales and elements are computed."""

_ROW = 16


@called
def _tops(lanes, half, tops):
    # Compare neighbouring patterns in pairs until each block has a single maximum: LLVM vectorises these loops.
    count = lanes.size // 2
    for i in range(count):
        half[i] = max(U(lanes[2 * i] & _MAGNITUDE), U(lanes[2 * i + 1] & _MAGNITUDE))
    while count > tops.size:
        count //= 2
        for i in range(count):
            half[i] = max(half[2 * i], half[2 * i + 1])
    tops[:] = half[: tops.size]


@called
def _clear(tops, codes):
    for b in range(tops.size):
        if tops[b] >= _INF:
            codes[b] = 0


@inlined
def _power_code(top, s):
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
    field = U(254 - code)
    return bits_float32(U(field << _WIDTH) if field else U(1 << 22))


@called
def _shared(tops, s, scales, reciprocals):
    for b in range(tops.size):
        finite = tops[b] < _INF
        code = _power_code(tops[b], s) if finite else s.nan
        scales[b] = code
        reciprocals[b] = _reciprocal(code) if finite else np.float32(0.0)


@called
def _nearest_even(blocks, reciprocals, g, out):
    # The element format must have subnormals.
    magic, shift, sign_shift = bits_float32(g.magic), U(g.shift & _WIDEST), U(g.sign_shift & _WIDEST)
    for b in range(blocks.shape[0]):
        reciprocal = reciprocals[b]
        for row in range(blocks.shape[1]):
            for i in range(_ROW):
                pattern = float32_bits(bits_float32(blocks[b, row, i]) * reciprocal)
                magnitude = U(pattern & _MAGNITUDE)
                normal = U(U(U(magnitude + g.offset) + U(U(magnitude >> shift) & _ONE)) >> shift)
                subnormal = U(float32_bits(bits_float32(magnitude) + magic) - g.magic)
                ordinal = min(subnormal if magnitude < g.lowest else normal, g.max_ordinal)
                out[b, row, i] = U(ordinal | U(U(pattern >> _WIDEST) << sign_shift))


@kernel
def scaled_floats(patterns, s, g, scales, codes):
    """Cast blocks of 2^n >= 16 numbers to floating-point elements with power-of-two scales."""
    blocks, length = patterns.shape
    each, tile = length // _ROW, max(1, _TILE // length)
    half, tops = np.empty(tile * length // 2, dtype=np.uint32), np.empty(tile, dtype=np.uint32)
    reciprocals = np.empty(tile, dtype=np.float32)
    for start in range(0, blocks, tile):
        count = min(tile, blocks - start)
        rows, shape = patterns[start : start + count], (count, each, _ROW)
        out = codes[start : start + count]
        _tops(rows.reshape(count * length), half, tops[:count])
        _shared(tops[:count], s, scales[start : start + count], reciprocals)
        _nearest_even(rows.reshape(shape), reciprocals, g, out.reshape(shape))
        _clear(tops[:count], out)


@called
def _integers(blocks, reciprocals, unit, largest, out):
    for b in range(blocks.shape[0]):
        reciprocal = reciprocals[b]
        for i in range(blocks.shape[1]):
            number = np.rint(bits_float32(blocks[b, i]) * reciprocal * unit)
            out[b, i] = np.uint8(np.int32(min(max(number, -largest), largest)))


@kernel
def scaled_integers(patterns, s, unit, largest, scales, codes):
    """Cast blocks of 2^n >= 16 numbers to two's complement integers with power-of-two scales."""
    blocks, length = patterns.shape
    tile = max(1, _TILE // length)
    half, tops = np.empty(tile * length // 2, dtype=np.uint32), np.empty(tile, dtype=np.uint32)
    reciprocals = np.empty(tile, dtype=np.float32)
    for start in range(0, blocks, tile):
        count = min(tile, blocks - start)
        rows, out = patterns[start : start + count], codes[start : start + count]
        _tops(rows.reshape(count * length), half, tops[:count])
        _shared(tops[:count], s, scales[start : start + count], reciprocals)
        _integers(rows, reciprocals, unit, largest, out)
        _clear(tops[:count], out)


# --- any scale --------------------------------------------------------------------------------------------------------


class ScaleGrid(NamedTuple):
    """Constants for rounding positive float64 numbers to a scale format.

    In the scale format, a larger number must have a larger code.
    """

    fraction_bits: int
    lowest: int  # exponent of the lowest number with full precision
    largest: int
    nan: int
    up: bool  # rounded up; to nearest even otherwise


@called
def _rounded(tops, divisor, g, scales):
    for b in range(tops.size):
        quotient = np.float64(bits_float32(tops[b])) / divisor if tops[b] < _INF else 0.0
        exponent = max(np.int64(float64_bits(quotient) >> np.uint64(52)) - 1023, g.lowest)
        places = quotient * bits_float64(np.uint64(np.uint64(1023 + g.fraction_bits - exponent) << np.uint64(52)))
        whole = np.int64(np.ceil(places) if g.up else np.rint(places))
        code = min(whole + ((exponent - g.lowest) << g.fraction_bits), g.largest)
        scales[b] = code if tops[b] < _INF else g.nan


@inlined
def _counted_code(magnitude, pattern, l1, l2, l3, l4, l5, l6, l7):
    # Binary search with select instructions instead of branches, so that LLVM vectorises the loop.
    m = _S(magnitude)
    upper = m >= l4
    middle = l6 if upper else l2
    second = m >= middle
    below = l5 if upper else l1
    above = l7 if upper else l3
    end = above if second else below
    code = (_S(4) if upper else _S(0)) | (_S(2) if second else _S(0)) | (_S(1) if m >= end else _S(0))
    return np.uint8(U(code) | U(U(pattern >> _WIDEST) << U(3)))


@called
def _counted(lanes, scales, limits, out):
    for row in range(lanes.shape[0]):
        of_scale = limits[scales[row]]
        l1, l2, l3, l4 = of_scale[0], of_scale[1], of_scale[2], of_scale[3]
        l5, l6, l7 = of_scale[4], of_scale[5], of_scale[6]
        for i in range(_ROW):
            pattern = lanes[row, i]
            out[row, i] = _counted_code(U(pattern & _MAGNITUDE), pattern, l1, l2, l3, l4, l5, l6, l7)


@kernel
def counted(patterns, g, divisor, limits, scales, codes):
    """Cast blocks of 2^n >= 16 numbers to FP4. The scale is the largest magnitude / `divisor`, rounded once."""
    # `limits` (scales, 7), int32: lowest float32 patterns that round to the element codes 1 to 7, for each scale code.
    blocks, length = patterns.shape
    each, tile = length // _ROW, max(1, _TILE // length)
    half, tops = np.empty(tile * length // 2, dtype=np.uint32), np.empty(tile, dtype=np.uint32)
    of_rows = np.empty(tile * each, dtype=np.uint8)
    for start in range(0, blocks, tile):
        count = min(tile, blocks - start)
        rows, shape = patterns[start : start + count], (count * each, _ROW)
        out, of_tile = codes[start : start + count], scales[start : start + count]
        _tops(rows.reshape(count * length), half, tops[:count])
        _rounded(tops[:count], divisor, g, of_tile)
        for b in range(count):
            for row in range(each):
                of_rows[b * each + row] = of_tile[b]
        _counted(rows.reshape(shape), of_rows, limits, out.reshape(shape))
        _clear(tops[:count], out)


# --- level bits -------------------------------------------------------------------------------------------------------
@kernel
def largest(patterns, tops):
    """Write the largest magnitude of each block of 2^n numbers, as a float32 pattern."""
    blocks, length = patterns.shape
    tile = max(1, _TILE // length)
    half = np.empty(tile * length // 2, dtype=np.uint32)
    for start in range(0, blocks, tile):
        count = min(tile, blocks - start)
        _tops(patterns[start : start + count].reshape(count * length), half, tops[start : start + count])


@called
def _group_tops(lanes, lengths, half, tops):
    # tops[level, :groups]: the largest magnitude of each group of a level.
    last = lengths.size - 1
    _tops(lanes, half, tops[last, : lanes.size // lengths[last]])
    for level in range(last, 0, -1):
        groups, count = lanes.size // lengths[level - 1], lanes.size // lengths[level] // 2
        finer, coarser = tops[level], tops[level - 1]
        for i in range(count):
            coarser[i] = max(finer[2 * i], finer[2 * i + 1])
        while count > groups:
            count //= 2
            for i in range(count):
                coarser[i] = max(coarser[2 * i], coarser[2 * i + 1])


@called
def _level(tops, factors, starts, place, words):
    # Halve the factor of each group whose level bit is 1.
    each = tops.size // words.size
    for b in range(words.size):
        word = _ZERO
        for g in range(each):
            i = b * each + g
            is_above = _S(float32_bits(bits_float32(tops[i]) * factors[i])) >= starts[b]
            factors[i] *= np.float32(0.5) if is_above else np.float32(1.0)
            word |= U((_ONE if is_above else _ZERO) << U(place + g))
        words[b] |= word


@called
def _spread(factors, half, count, size):
    # Repeat each factor size / count times.
    while count < size:
        pairs = factors[: 2 * count].reshape(count, 2)
        half[:count] = factors[:count]
        for i in range(count):
            for j in range(2):
                pairs[i, j] = half[i]
        count *= 2


@called
def _counted_groups(blocks, factors, limits, scales, out):
    for b in range(blocks.shape[0]):
        of_scale = limits[scales[b]]
        l1, l2, l3, l4 = of_scale[0], of_scale[1], of_scale[2], of_scale[3]
        l5, l6, l7 = of_scale[4], of_scale[5], of_scale[6]
        for row in range(blocks.shape[1]):
            for i in range(_ROW):
                pattern = blocks[b, row, i]
                magnitude = float32_bits(bits_float32(U(pattern & _MAGNITUDE)) * factors[b, row, i])
                out[b, row, i] = _counted_code(magnitude, pattern, l1, l2, l3, l4, l5, l6, l7)


@kernel
def levelled(patterns, lengths, starts, limits, place, nan, scales, words, codes):
    """Cast blocks of 2^n >= 16 numbers to HiF4. A level bit of 1 doubles all FP4 elements of its group."""
    # `lengths` (levels,): number of elements in a group of each level, a divisor of the block length.
    # `starts` (levels, scales), int32: lowest float32 pattern of a group's largest magnitude that sets the level bit.
    # `limits` (scales, 7), int32: lowest float32 patterns that round to the magnitude codes 1 to 7.
    # `words` (blocks,): output with the scale code of a block, and the level bits from bit `place` on.
    # A level bit of 1 halves the group's magnitudes before comparisons with patterns of later levels or with `limits`.
    blocks, length = patterns.shape
    each, tile = length // _ROW, max(1, _TILE // length)
    half = np.empty(tile * length // 2, dtype=np.uint32)
    tops = np.empty((lengths.size, tile * length // lengths[-1]), dtype=np.uint32)
    factors, spare = np.empty(tile * length, dtype=np.float32), np.empty(tile * length // 2, dtype=np.float32)
    of_blocks = np.empty(tile, dtype=np.int32)
    for start in range(0, blocks, tile):
        count = min(tile, blocks - start)
        rows, out, shape = patterns[start : start + count], codes[start : start + count], (count, each, _ROW)
        of_tile, shared, size = scales[start : start + count], words[start : start + count], count * length
        _group_tops(rows.reshape(size), lengths, half, tops)
        shared[:] = of_tile
        factors[: size // lengths[0]] = np.float32(1.0)
        first = place
        for level in range(lengths.size):
            groups = size // lengths[level]
            for b in range(count):
                of_blocks[b] = starts[level, of_tile[b]]
            _level(tops[level, :groups], factors, of_blocks, first, shared)
            first += length // lengths[level]
            _spread(factors, spare, groups, size // lengths[level + 1] if level + 1 < lengths.size else size)
        _counted_groups(rows.reshape(shape), factors[:size].reshape(shape), limits, of_tile, out.reshape(shape))
        for b in range(count):
            if of_tile[b] == nan:
                out[b] = 0
                shared[b] = of_tile[b]
