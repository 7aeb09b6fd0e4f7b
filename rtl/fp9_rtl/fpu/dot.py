"""Exact dot product of narrow operands in a multi-format FPU."""

# A fixed-point adder sums all products exactly. The normalised dot product is then added to the addend like a single
# product.

from __future__ import annotations

from typing import TypeAlias

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import floor_log2
from fp9.units import MultiFpu, MultiFpuOp
from fp9.units.multi_fpu import DOTS, NARROW_BITS
from fp9_rtl.fpu.choices import is_operation
from fp9_rtl.fpu.operand import Scale, unpack_narrow
from fp9_rtl.parts.layouts import product_layout
from fp9_rtl.parts.select import any_of, at_most
from fp9_rtl.parts.shifters import shift_left_normalising
from fp9_rtl.sums.terms import signed_sum

View: TypeAlias = "data.View[data.StructLayout]"


def dot_layout(unit: MultiFpu) -> data.StructLayout:
    operand = Scale(unit.narrow).layout
    names = (f"{name}{lane}" for lane in range(unit.dot_products) for name in "ab")
    return data.StructLayout({"selected": 1, **dict.fromkeys(names, operand)})


def dot_operands(m: Module, unit: MultiFpu, ports: View, o: View) -> None:
    m.d.comb += o.selected.eq(is_operation(unit, ports, *DOTS))
    for name in "ab":
        select: Value = ports[unit.format_port(name)]
        select = at_most(select, len(unit.narrow) - 1)
        for lane in range(unit.dot_products):
            code = ports[name].word_select(lane, NARROW_BITS)
            found = unpack_narrow(m, unit.narrow, f"{name}{lane}", code, select)
            operand = o[f"{name}{lane}"]
            m.d.comb += operand.eq(found)
            # An unused lane contributes zeros.
            if lane >= DOTS[MultiFpuOp.DOT2]:
                with m.If(~is_operation(unit, ports, MultiFpuOp.DOT4)):
                    m.d.comb += [operand.eq(0), operand.zero.eq(1), operand.sign.eq(o[f"{name}0"].sign)]


class DotField:
    """Fixed-point field that holds the exact sum of all products."""

    def __init__(self, unit: MultiFpu) -> None:
        self.scale, self.products = Scale(unit.narrow), unit.dot_products
        smallest = (fmt.quantum(floor_log2(fmt.value_of(fmt.smallest_code))) for fmt in unit.narrow)
        self.lowest = 2 * min(smallest)
        self.highest = 2 * (self.scale.exponents.stop - 1) + self.products.bit_length()
        self.bits = self.highest - self.lowest + 1

    def exponents(self, bias: int) -> range:
        return range(self.highest - (1 << (self.bits - 1).bit_length()) + bias, self.highest + bias + 1)


def dot_term(m: Module, unit: MultiFpu, i: View, addend_sign: Value, bias: int) -> tuple[View, Value, Value]:
    """Return the sum of the products, a flag for opposite infinities, and a flag for signalling NaN."""
    # If all products are zero and have the same sign, the sum has this sign. If the products cancel, their zero sum
    # gets the opposite of the addend's sign, so that the final zero has the correct sign.
    field, lanes = DotField(unit), range(unit.dot_products)
    pairs = [(i[f"a{lane}"], i[f"b{lane}"]) for lane in lanes]
    signs = [a.sign ^ b.sign for a, b in pairs]
    zeros = [a.zero | b.zero for a, b in pairs]
    infinite = [a.inf | b.inf for a, b in pairs]
    terms = [(_placed(m, field, a, b, lane), signs[lane]) for lane, (a, b) in enumerate(pairs)]
    magnitude, negative = signed_sum(m, terms, field.bits)
    normalised, shift = shift_left_normalising(m, magnitude, None, only_last=Const(0))
    term = Signal(product_layout(field.exponents(bias), field.bits), name="dot_sum")
    plus, minus = (any_of(inf & (sign == side) for inf, sign in zip(infinite, signs, strict=True)) for side in (0, 1))
    alike = any_of(sign ^ signs[0] for sign in signs) == 0
    cancels = ~normalised[-1] & ~(~any_of(~zero for zero in zeros) & alike)
    m.d.comb += [
        term.significand.eq(normalised),
        term.exponent.eq(field.highest + bias - shift),
        term.zero.eq(~normalised[-1]),
        term.inf.eq(plus | minus),
        term.nan.eq(any_of(x.nan for pair in pairs for x in pair)),
        term.invalid.eq(any_of((a.inf & b.zero) | (a.zero & b.inf) for a, b in pairs)),
        term.sign.eq(Mux(term.inf, minus, Mux(cancels, ~addend_sign, Mux(term.zero, signs[0], negative)))),
    ]
    return term, plus & minus, any_of(x.signaling for pair in pairs for x in pair)


def _placed(m: Module, field: DotField, a: View, b: View, lane: int) -> Value:
    scale = field.scale
    lowest = 2 * (scale.exponents.start - scale.precision + 1)  # weight of the product's last bit without a shift
    product = Signal(2 * scale.precision, name=f"product{lane}")
    distance = Signal(range(2 * scale.field.stop), name=f"distance{lane}")
    placed = Signal(field.bits, name=f"placed{lane}")
    m.d.comb += [
        product.eq(a.significand * b.significand & ~(a.zero | b.zero).replicate(len(product))),
        distance.eq(a.exponent + b.exponent),
        # Biased exponents begin at 1, so the sum of two begins at 2.
        placed.eq((product << distance)[2 + field.lowest - lowest :]),
    ]
    return placed
