"""Decode operand scales in hardware, and convert a scaled sum to a term of a multiply-add."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import Format, UnsignedFloat, floor_log2
from fp9.units import Dot, product_range
from fp9_rtl.parts.layouts import product_layout
from fp9_rtl.parts.shifters import shift_left_normalising, shift_right_sticky
from fp9_rtl.sums.adder import EXTRA_BITS


def scale_names(unit: Dot) -> tuple[str, ...]:
    return (*unit.scale_names("a"), *unit.scale_names("b"))


class ScaledTerm:
    """Hardware that converts an exact scaled sum to the input of an adder: a normalised significand and an exponent."""

    # `first` is the range of the possible exponents of the magnitude's first bit. If the normalised exponent is below
    # 1, the significand is shifted right, and its lost bits become a sticky bit.

    def __init__(self, unit: Dot, bits: int, first: range) -> None:
        self._bits = bits
        lowest = first.start - (bits - 1)
        self._sinks = lowest < 1
        width = max(bits, unit.engine.result.format.precision + EXTRA_BITS)
        self.layout = product_layout(range(max(lowest, 1), max(first.stop, 2)), width)

    def drive(self, m: Module, product: data.View[data.StructLayout], exact: Value, first: Value, zero: Value) -> None:
        aligned = Cat(Const(0, len(product.significand) - self._bits), exact)
        normalised, shift = shift_left_normalising(m, aligned, None, Const(0))
        exponent, moved = first - shift, normalised
        if self._sinks:
            exponent, moved = self._sunk(m, exponent, normalised)
        m.d.comb += [
            product.significand.eq(moved & (~zero).replicate(len(moved))),
            product.exponent.eq(exponent),
        ]

    def _sunk(self, m: Module, exponent: Value, significand: Value) -> tuple[Value, Value]:
        below = Signal.like(1 - exponent)
        distance = Signal(len(below) - 1)
        m.d.comb += [below.eq(1 - exponent), distance.eq(Mux(below > 0, below, 0))]
        moved, lost = shift_right_sticky(m, significand, distance)
        return Mux(below > 0, 1, 1 - below), moved | lost


class ScaleFields:
    """Hardware that decodes scale codes to exponent fields and significands."""

    # A scale has the value significand * 2^(exponent field + `offset`). The first bit of the significand has weight 1.

    def __init__(self, fmt: Format) -> None:
        self._format = fmt
        self.precision = fmt.precision
        self._fraction_bits = fmt.precision - 1
        self._subnormals = isinstance(fmt, UnsignedFloat) and fmt.subnormals
        code_of_field_1 = 1 << self._fraction_bits
        self.offset = floor_log2(fmt.value_of(code_of_field_1)) - 1
        self.lowest_field = int(self._subnormals)
        self.highest_field = fmt.max_code >> self._fraction_bits

    @property
    def product_bits(self) -> int:
        """Return the width of the product of two scales' significands, or 0 if all scales are powers of two."""
        return 2 * self.precision if self.precision > 1 else 0

    def times(self, exact: Value, significands: Sequence[Value], zero: Value) -> Value:
        if self.product_bits:
            return exact * (significands[0] * significands[1])
        return exact & ~zero.replicate(len(exact)) if self._format.has_zero else exact

    def first_place(self, unit: Dot, bits: int) -> range:
        ulp = product_range(unit.a, unit.b, unit.bias_port).ulp
        at_zero = ulp + bits - 1 + 2 * (self.offset - self.precision + 1) + unit.engine.result.format.bias
        return range(at_zero + 2 * self.lowest_field, at_zero + 2 * self.highest_field + 1)

    def read(self, m: Module, codes: list[Value]) -> tuple[list[Value], list[Value], Value, Value]:
        fields, significands, nans, zeros = [], [], [], []
        for number, code in enumerate(codes):
            field = code[self._fraction_bits :]
            lowest = field == 0 if self._subnormals else Const(0)
            exponent = Signal(len(field), name=f"scale_exponent{number}")
            significand = Signal(self.precision, name=f"scale_significand{number}")
            m.d.comb += [
                exponent.eq(field | lowest if self._subnormals else field),
                significand.eq(Cat(code[: self._fraction_bits], ~lowest)),
            ]
            fields.append(exponent)
            significands.append(significand)
            nans.append(code.all())
            zeros.append(~code.any() if self._format.has_zero else Const(0))
        return fields, significands, nans[0] | nans[1], zeros[0] | zeros[1]
