"""Compute a block's power-of-two scale: amax divided by a rule's divisor, rounded once.

Write the divisor as m 2^k with 1 <= m < 2, and the largest magnitude amax as s 2^e. With significands s of amax and m
of the divisor, the quotient has the significand s/m or 2 s/m. Rounding the quotient only requires comparisons of amax's
significand s with constants. If amax's significand s is below the divisor's significand m, the quotient is in the lower
binade. A comparison of amax's significand s with 3/2 of the binade's start gives the guard bit. The sticky bit is 0 if
the quotient equals the start or the middle of the binade.
"""

from __future__ import annotations

import math
from fractions import Fraction

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed

from fp9.formats import FixedFormat, floor_log2, pow2
from fp9.formats.blocks import BlockFormat, ScaleRule
from fp9_rtl.rounding.decision import rounds_up

_HALFWAY = Fraction(3, 2)


def scale_code(m: Module, amax: Value, source: FixedFormat, block: BlockFormat, rule: ScaleRule) -> Value:
    """Return the scale code for a finite `amax`, a code without its sign bit.

    A negative code means the smallest scale.
    """
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
    """Return whether special hardware is needed for a subnormal amax and for a scale above the largest scale.

    Special hardware is needed only if all elements of the block format are below 2.
    """
    return block.power < 2


def _fields(m: Module, amax: Value, source: FixedFormat, block: BlockFormat, rule: ScaleRule) -> tuple[Value, Value]:
    """Return two fields of amax: the exponent with one extra carry bit, and the fraction.

    Some rules first round amax to the precision of the elements, with ties up. To round amax, half of the last place is
    added, and the lower bits are dropped.
    """
    rounded = Signal(len(amax) + 1)
    dropped = source.precision - block.element.precision if rule.amax_first else 0
    m.d.comb += rounded.eq(_normalised(amax, source, block) + ((1 << dropped) >> 1))
    fraction = rounded[: source.fraction_bits] & -(1 << dropped)
    return rounded[source.fraction_bits :], fraction[: source.fraction_bits]


def _normalised(amax: Value, source: FixedFormat, block: BlockFormat) -> Value:
    """Return the code of amax, with a subnormal amax normalised so that the leading 1 precedes the fraction.

    The shift is exact for numbers in the binade just below the normal numbers. All smaller numbers get the smallest
    scale, and are therefore replaced by the first number of the binade.
    """
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
