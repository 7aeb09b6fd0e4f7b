"""Divide a block's largest magnitude by a constant, and round the result to a power of two."""

# Let the divisor be m 2^k and the largest magnitude amax be s 2^e, with significands m and s from 1 up to 2. The
# quotient then has the significand s/m if s >= m, and 2 s/m otherwise. To round it to a power of two, it suffices to
# compare s with constants. The guard bit is 1 if the quotient's significand is at least 3/2. The sticky bit is 0 if
# it is exactly 1 or 3/2.

from __future__ import annotations

import math
from fractions import Fraction

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed

from fp9.formats import FixedFormat, floor_log2, pow2
from fp9.formats.blocks import BlockFormat, ScaleRule
from fp9_rtl.rounding.decision import rounds_up

_HALFWAY = Fraction(3, 2)


def scale_code(m: Module, amax: Value, source: FixedFormat, block: BlockFormat, rule: ScaleRule) -> Value:
    # `amax` is the code of the largest magnitude without its sign bit.
    exponent, fraction = _fields(m, amax, source, block, rule)
    divisor = block.divisor(rule)
    power = floor_log2(divisor)
    start = divisor / pow2(power)
    lower = _below(fraction, start, source)
    offset = -block.scale.min_normal_exponent - source.bias - power
    below = Signal(signed(len(exponent) + 2))
    m.d.comb += below.eq(exponent + offset - lower)
    halfway = (_HALFWAY * start / 2, _HALFWAY * start)
    guard = ~Mux(lower, *(_below(fraction, point, source) for point in halfway))
    at_guard = Mux(lower, *(_equal(fraction, point, source) for point in halfway))
    sticky = ~(at_guard | (~lower & _equal(fraction, start, source)))
    code = Signal(signed(len(below) + 1))
    m.d.comb += code.eq(below + rounds_up(rule.rounding, 0, below[0], guard, sticky))
    return Mux(code > block.scale.max_code, block.scale.max_code, code) if _reaches_both_ends(block) else code


def _reaches_both_ends(block: BlockFormat) -> bool:
    # In a block format with an element of at least 2, a subnormal amax cannot determine the scale, and no scale can
    # exceed the largest scale.
    return block.power < 2


def _fields(m: Module, amax: Value, source: FixedFormat, block: BlockFormat, rule: ScaleRule) -> tuple[Value, Value]:
    """Return two fields of amax: the exponent, extended by one bit for a carry, and the fraction."""
    rounded = Signal(len(amax) + 1)
    dropped = source.precision - block.element.precision if rule.amax_first else 0
    m.d.comb += rounded.eq(_normalised(amax, source, block) + ((1 << dropped) >> 1))
    fraction = rounded[: source.fraction_bits] & -(1 << dropped)
    return rounded[source.fraction_bits :], fraction[: source.fraction_bits]


def _normalised(amax: Value, source: FixedFormat, block: BlockFormat) -> Value:
    # The fraction of a subnormal amax is shifted left to drop its leading 1. The shift is exact if amax is at least
    # half the smallest normal number. If amax is smaller still, the smallest scale is used, so the fraction may be
    # replaced by 0.
    if not _reaches_both_ends(block):
        return amax
    exponent, fraction = amax[source.fraction_bits :], amax[: source.fraction_bits]
    lowest = Mux(fraction[-1], Cat(Const(0, 1), fraction[:-1]), 0)
    return Mux(exponent == 0, lowest, amax)


def _below(fraction: Value, point: Fraction, source: FixedFormat) -> Value:
    place = (point - 1) * (1 << source.fraction_bits)
    if place <= 0:
        return Const(0)
    return fraction < math.ceil(place) if place < 1 << source.fraction_bits else Const(1)


def _equal(fraction: Value, point: Fraction, source: FixedFormat) -> Value:
    place = (point - 1) * (1 << source.fraction_bits)
    if place.denominator > 1 or not 0 <= place < 1 << source.fraction_bits:
        return Const(0)
    return fraction == int(place)
