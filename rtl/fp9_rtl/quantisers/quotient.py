"""Compute a block's floating-point scale: amax divided by two factors, rounded once."""

# Both divisions pass on a sticky bit for the remainder, so the result is the same as for an exact quotient.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from fp9.formats import FixedFormat, Format, floor_log2, pow2
from fp9.formats.rounding import Rounding
from fp9.units import TENSOR_SCALE
from fp9_rtl.parts.layouts import fields_layout
from fp9_rtl.parts.shifters import shift_left_normalising, shift_right_sticky
from fp9_rtl.rounding.decision import rounds_up


@dataclass(frozen=True, slots=True)
class Quotient:
    """A positive number, given by its leading significand bits, an exponent and a sticky bit."""

    # The first bit of `significand` is the leading 1, whose weight is 2^`exponent`.

    significand: Value
    exponent: Value
    sticky: Value


def tensor_fields(code: Value) -> data.View[data.StructLayout]:
    return data.View(fields_layout(TENSOR_SCALE), code)


def is_usable(code: Value) -> Value:
    """Return whether the tensor scale is a positive normal number."""
    tensor, largest = tensor_fields(code), TENSOR_SCALE.max_code >> TENSOR_SCALE.fraction_bits
    return ~tensor.sign & (tensor.exponent != 0) & (tensor.exponent <= largest)


def over_tensor(m: Module, amax: Value, code: Value, source: FixedFormat, bits: int) -> Quotient:
    tensor = tensor_fields(code)
    field = amax[source.fraction_bits :]
    normal = field.any()
    whole, zeros = shift_left_normalising(m, Cat(amax[: source.fraction_bits], normal), None, Const(0))
    widened = Cat(Const(0, TENSOR_SCALE.precision - source.precision), whole)
    quotient, lower, sticky = _divided(m, widened, Cat(tensor.fraction, Const(1, 1)), bits)
    exponent = Signal(signed(source.exponent_bits + 2))
    m.d.comb += exponent.eq(field + ~normal - zeros - tensor.exponent - lower)
    return Quotient(quotient, exponent, sticky)


def rounded_over(m: Module, ratio: Quotient, divisor: Fraction, scale: Format, rounding: Rounding) -> Value:
    kept = scale.precision + 1
    start = divisor / pow2(floor_log2(divisor))
    whole = len(ratio.significand)
    by = Const(int(start * (1 << (whole - 1))), whole)
    significand, lower, left = _divided(m, ratio.significand, by, kept)
    lowest = scale.min_normal_exponent
    exponent = Signal(signed(len(ratio.exponent) + 1))
    m.d.comb += exponent.eq(ratio.exponent - lower - floor_log2(divisor))
    low = exponent < lowest
    distance, field = Signal(len(exponent)), Signal(len(exponent))
    m.d.comb += [distance.eq(Mux(low, lowest - exponent, 0)), field.eq(Mux(low, 0, exponent - lowest))]
    shifted, lost = shift_right_sticky(m, significand, distance)
    up = rounds_up(rounding, 0, shifted[1], shifted[0], lost | left | ratio.sticky)
    code = Signal(len(field) + kept)
    m.d.comb += code.eq(Cat(Const(0, kept - 2), field) + shifted[1:] + up)
    return Mux(code > scale.max_code, scale.max_code, code)[: scale.bits]


def ratio_bits(scale: Format, divisors: Iterable[Fraction]) -> int:
    """Return how many bits of the quotient amax / (tensor scale) suffice to round a block's scale correctly."""
    start = [divisor / pow2(floor_log2(divisor)) for divisor in divisors]
    return scale.precision + 2 + max(floor_log2(Fraction(number.denominator)) for number in start)


def _divided(m: Module, dividend: Value, divisor: Value, bits: int) -> tuple[Value, Value, Value]:
    """Return the first `bits` bits of dividend / divisor, a flag for a quotient below 1, and a sticky bit."""
    # Dividend and divisor must have their leading 1 at the same bit position.
    lower = Signal(name="lower")
    m.d.comb += lower.eq(dividend < divisor)
    left = Signal(len(divisor) + 1, name="left")
    m.d.comb += left.eq(Mux(lower, dividend << 1, dividend))
    quotient: list[Value] = []
    for _ in range(bits):
        difference = Signal(signed(len(left) + 1), name="difference")
        m.d.comb += difference.eq(left - divisor)
        fits = ~difference[-1]
        after = Signal(len(left), name="left")
        m.d.comb += after.eq(Mux(fits, difference[: len(divisor)], left[: len(divisor)]) << 1)
        quotient.insert(0, fits)
        left = after
    return Cat(quotient), lower, left.any()
