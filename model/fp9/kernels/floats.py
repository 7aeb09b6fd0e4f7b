"""Numba functions that LLVM vectorises: sums rounded to odd, and rounding without branches."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from fp9.kernels.bits import bits_float32, bits_float64, float32_bits, float64_bits
from fp9.kernels.compiled import inlined


class Rounder(NamedTuple):
    """Constants for rounding a float32 or float64 number to fewer bits."""

    drop: Any  # fraction bits that the format does not have
    bias: Any  # half a last place, less 1 for ties to even; 0 toward zero
    tie: Any  # 1 for ties to even, else 0: the kept part's last bit is added
    mask: Any
    limit: Any  # magnitudes below it are rounded by adding and subtracting `magic`: subnormal or flushed ones
    magic: Any
    steps: Any  # 1 / quantum below the limit, for truncation; 0 where `magic` rounds
    largest: Any
    overflow: Any  # what larger ones become: infinity or NaN


class OddRounder(NamedTuple):
    """Constants for rounding a float64 number to odd: if a dropped bit is 1, the last bit becomes 1."""

    mask: Any  # of all bits but the fraction bits that the format does not have
    limit: Any  # magnitudes below it are subnormal, and become multiples of `quantum`
    steps: Any  # 1 / quantum
    quantum: Any
    largest: Any
    overflow: Any  # what larger ones become: infinity or NaN


def _float64_function(name: str) -> Any:
    @intrinsic
    def function(_context: Any, value: Any) -> Any:
        def emit(_c: Any, builder: Any, _s: Any, arguments: Any) -> Any:
            return builder.call(builder.module.declare_intrinsic(name, [ir.DoubleType()]), arguments)

        return types.float64(types.float64), emit

    return function


# NumPy's functions of these names call the C library for every element; these are one instruction for a vector.
truncate = _float64_function("llvm.trunc")
floor = _float64_function("llvm.floor")


@inlined
def round32(x, t):
    bits = float32_bits(x)
    odd = np.uint32(np.uint32(bits >> t.drop) & t.tie)
    rounded = bits_float32(np.uint32(np.uint32(bits + np.uint32(t.bias + odd)) & t.mask))
    small = math.copysign(np.float32(np.float32(abs(x) + t.magic) - t.magic), x)
    r = small if abs(x) < t.limit else rounded
    return math.copysign(t.overflow, r) if abs(r) > t.largest else r


@inlined
def two_sum(x, y):
    """Return the rounded sum and the rounding error (Knuth's two-sum)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


@inlined
def odd_sum(x, y):
    """Return x + y rounded to odd."""
    total, error = two_sum(x, y)
    bits = float64_bits(total)
    away = np.int64(1) if (error > 0.0) == (total > 0.0) else np.int64(-1)
    return bits_float64(bits + (away if error != 0.0 and bits & 1 == 0 else np.int64(0)))


@inlined
def round64(x, t):
    bits = float64_bits(x)
    rounded = bits_float64((bits + t.bias + ((bits >> t.drop) & t.tie)) & t.mask)
    size = abs(x)
    small = truncate(size * t.steps) / t.steps if t.steps > 0.0 else (size + t.magic) - t.magic
    r = math.copysign(small, x) if size < t.limit else rounded
    return math.copysign(t.overflow, r) if abs(r) > t.largest else r


@inlined
def round_to_odd(x, t):
    # Adding ones to the dropped bits carries into the last bit if a dropped bit is 1.
    bits, ones = float64_bits(x), ~t.mask
    last = ((bits & ones) + ones) & t.mask
    r = bits_float64((bits & t.mask) | last)
    size = abs(x)
    if t.limit > 0.0:
        steps = size * t.steps
        kept = truncate(steps)
        small = np.float64(np.int64(kept) | (np.int64(1) if kept != steps else np.int64(0))) * t.quantum
        r = math.copysign(small, x) if size < t.limit else r
    return math.copysign(t.overflow, r) if abs(r) > t.largest else r


def rounded(x: Any, t: Any) -> Any:
    """Return round(x). If `t` is float32 instead of a `Rounder`, round to nearest even in float32."""
    raise NotImplementedError("a part of kernels")


@overload(rounded, jit_options={"forceinline": True, "error_model": "numpy"})
def _rounded(x, t):
    if t == types.float32:
        return lambda x, t: np.float64(np.float32(x))
    if t.instance_class is OddRounder:
        return lambda x, t: round_to_odd(x, t)
    function = round32 if x == types.float32 else round64
    return lambda x, t: function(x, t)


def _masked(_context: Any, number: Any, mask: Any) -> Any:
    def emit(_c: Any, builder: Any, _s: Any, arguments: Any) -> Any:
        x, bits = arguments
        return builder.bitcast(builder.and_(builder.bitcast(x, bits.type), bits), x.type)

    return number(number, mask), emit


def _magnitude_bits(_context: Any, value: Any) -> Any:
    def emit(_c: Any, builder: Any, _s: Any, arguments: Any) -> Any:
        kind = ir.IntType(value.bitwidth)
        return builder.and_(builder.bitcast(arguments[0], kind), ir.Constant(kind, (1 << (value.bitwidth - 1)) - 1))

    return (types.int32 if value == types.float32 else types.int64)(value), emit


def _number_of(_context: Any, bits: Any, like: Any) -> Any:
    def emit(_c: Any, builder: Any, _s: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], arguments[1].type)

    return like(bits, like), emit


masked: Any = intrinsic(_masked)
magnitude_bits: Any = intrinsic(_magnitude_bits)
"""Return the bit pattern of |x|. Patterns, compared as integers, have the order of the numbers, with NaN last."""
number_of: Any = intrinsic(_number_of)
"""Return the number that has a given bit pattern. The number has the type of the second argument."""


@inlined
def largest(x):
    # LLVM vectorises integer comparisons, so magnitudes are compared as integers. NaN is the largest.
    found = magnitude_bits(x[0])
    for j in range(x.size):
        found = max(found, magnitude_bits(x[j]))
    return number_of(found, x[0])


@inlined
def rounded_sum(x, y, t):
    plain = x + y
    total = odd_sum(x, y)
    return rounded(total if abs(plain) < np.inf else plain, t)


@inlined
def _narrowed_sum(x, y, t):
    return np.float64(np.float32(x + y))


def joined(x: Any, y: Any, t: Any) -> Any:
    """Return round(x + y). If `t` is float32 instead of a `Rounder`, round to nearest even in float32.

    Double rounding is harmless, since 53 bits are more than twice 24 bits (Figueroa, 1995).
    """
    raise NotImplementedError("a part of kernels")


@overload(joined, jit_options={"forceinline": True, "error_model": "numpy"})
def _joined(x, y, t):
    function = _narrowed_sum if t == types.float32 else rounded_sum
    return lambda x, y, t: function(x, y, t)


@inlined
def odd_sum_of_three(x, y, z):
    """Return x + y + z rounded to odd (Boldo and Melquiond, 2008)."""
    high, low = two_sum(x, y)
    middle, rest = two_sum(z, low)
    top, next_top = two_sum(high, middle)
    return odd_sum(top, odd_sum(rest, next_top))


@inlined
def rounded_sum_of_three(x, y, z, t):
    total = odd_sum_of_three(x, y, z)
    plain = (x + y) + z
    return round64(total if abs(plain) < np.inf and total != 0.0 else plain, t)
