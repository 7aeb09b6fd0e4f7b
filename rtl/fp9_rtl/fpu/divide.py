"""Division and square root in a multi-format FPU."""

# Each row of subtractors computes one bit of the result by trial subtraction from the partial remainder w. Both
# operations share the rows:
#
#     row 0      w - b             w - 1
#     row j    2 w - b           2 w - (2 Q + 2^-j)      Q: the square root computed so far
#
# A result bit is 1 if the difference in its row is not negative. The difference is then the next partial remainder.
# The sticky bit is 1 if the final remainder is not zero.

from __future__ import annotations

from typing import TypeAlias

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9_rtl.fpu.operand import Scale
from fp9_rtl.parts.layouts import product_layout

View: TypeAlias = "data.View[data.StructLayout]"

INTEGER_BITS = 3


def quotient_bits(precision: int) -> int:
    # A quotient also has a leading zero, a guard bit and a sticky bit.
    return precision + 3


def quotient_exponents(scale: Scale) -> range:
    return range(scale.sum_bias - scale.field.stop, scale.sum_bias + scale.field.stop)


def quotient_term(m: Module, i: View, scale: Scale) -> tuple[View, Value]:
    """Return the quotient or square root in the layout of a product, and a flag for division by zero."""
    a, b, root = i.a, i.b, i.root
    # An iterative divider has already computed the significand in the field `digits`.
    iterates = "digits" in i.shape().members
    bits = len(i.digits) if iterates else quotient_bits(len(a.significand))
    exponent = Signal.like(a.exponent - scale.bias, name="root_exponent")
    m.d.comb += exponent.eq(a.exponent - scale.bias)
    term = Signal(product_layout(quotient_exponents(scale), bits), name="quotient")
    negative = a.sign & ~a.zero
    digits = i.digits if iterates else _digits(m, a.significand, b.significand, root, exponent[0])
    m.d.comb += [
        term.significand.eq(digits & ~term.zero.replicate(len(digits))),
        term.exponent.eq(Mux(root, exponent >> 1, a.exponent - b.exponent) + scale.sum_bias),
        term.sign.eq(a.sign ^ (b.sign & ~root)),
        term.zero.eq(a.zero | (b.inf & ~root)),
        term.inf.eq(a.inf | (b.zero & ~root)),
        term.nan.eq(a.nan | (b.nan & ~root)),
        term.invalid.eq(Mux(root, negative & ~a.nan, (a.zero & b.zero) | (a.inf & b.inf))),
    ]
    return term, ~root & b.zero & ~(a.zero | a.inf | a.nan)


def _digits(m: Module, a: Value, b: Value, root: Value, odd: Value) -> Value:
    # Both operands must be normalised. To take the square root of a number with an odd exponent, its significand is
    # doubled.
    fraction = len(a) + 1
    width = fraction + INTEGER_BITS
    remainder: Value = Signal(width, name="dividend")
    m.d.comb += remainder.eq(Cat(Const(0, 2), Mux(root & odd, a << 1, a)))
    divisor = Cat(Const(0, 2), b)
    digits: list[Value] = []
    for row in range(fraction + 1):
        root_trial = Cat(Const(0, fraction - row), Const(1, 2), *reversed(digits)) if row else Const(1 << fraction)
        shifted = Cat(Const(0, 1), remainder)[:width] if row else remainder
        digit, remainder = trial_subtraction(m, row, shifted, Mux(root, root_trial, divisor))
        digits.append(digit)
    return Cat(remainder.any(), *reversed(digits))


def trial_subtraction(m: Module, row: int, remainder: Value, trial: Value) -> tuple[Value, Value]:
    """Return one bit of a quotient or root, and the next partial remainder."""
    width = len(remainder)
    difference, after = Signal(width + 1, name=f"difference{row}"), Signal(width, name=f"remainder{row}")
    m.d.comb += [
        difference.eq(remainder - trial),
        after.eq(Mux(difference[-1], remainder, difference)),
    ]
    return ~difference[-1], after
