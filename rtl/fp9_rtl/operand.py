"""Decoding of 8-bit operands, their format chosen per operation, to sign, exponent and normalised significand."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fp9.formats import FixedFormat, Format, HiFloat8, Specials, with_bias
from fp9.units import BIAS_BITS, OPERAND_SIGNIFICAND_BITS, exponent_range, has_programmable_bias, select_width
from fp9_rtl import hif8
from fp9_rtl.layouts import fields_layout, operand_layout
from fp9_rtl.select import switch

FRACTION_BITS = OPERAND_SIGNIFICAND_BITS - 1


class OperandDecoder(wiring.Component):
    """One 8-bit code to the fields of `operand_layout`, combinational.

    `code` holds the code, `select` the index of its format, `extra_bias` the extra bias of hfp8_143 where `bias_port`
    asks for it. The exponent of `operand` is the true one plus `offset`: a caller that chooses it well saves adders.
    Without `normalise`, subnormal numbers keep the lowest exponent of their format and the zeros before their first 1.
    Exponent and significand carry no meaning where a special flag says otherwise.
    """

    code: Signal
    select: Signal
    extra_bias: Signal
    operand: data.View[data.StructLayout]

    def __init__(self, formats: Sequence[Format], bias_port: bool, offset: int = 0, normalise: bool = True) -> None:
        low, high = exponent_range(tuple(formats), bias_port)
        super().__init__(
            {
                "code": In(8),
                "select": In(select_width(len(formats))),
                "extra_bias": In(signed(BIAS_BITS)),
                "operand": Out(operand_layout(range(low + offset, high + offset + 1))),
            }
        )
        self._formats = formats
        self._bias_port = bias_port
        self._offset = offset
        self._normalises = normalise

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._classify(m)
        fraction, exponent, subnormal = self._unpack(m)
        if self._normalises:
            self._normalise(m, fraction, exponent, subnormal)
        else:
            self._keep(m, fraction, exponent, subnormal)
        return m

    def _classify(self, m: Module) -> None:
        """Zero, infinity, NaN and sign."""
        magnitude = self.code[:-1]
        unsigned_zero = Signal()
        for fmt in switch(m, self.select, self._formats):
            merged = isinstance(fmt, FixedFormat) and fmt.specials in (Specials.MERGED, Specials.NONE)
            m.d.comb += [
                self.operand.nan.eq(_is_nan(fmt, self.code)),
                self.operand.inf.eq(magnitude == fmt.inf_code(False) if fmt.has_inf else 0),
                unsigned_zero.eq(merged),
            ]
        is_zero = magnitude == 0
        m.d.comb += [
            self.operand.zero.eq(is_zero & ~self.operand.nan),
            self.operand.sign.eq(self.code[-1] & ~(is_zero & unsigned_zero)),
        ]

    def _unpack(self, m: Module) -> tuple[Signal, Signal, Signal]:
        """Fraction left-aligned, exponent, and whether the number is subnormal, as the format's fields say."""
        fraction = Signal(FRACTION_BITS)
        exponent = Signal(self.operand.shape()["exponent"].shape)
        subnormal = Signal()
        for fmt in switch(m, self.select, self._formats):
            if isinstance(fmt, HiFloat8):
                hif8.decode(m, self.code[:-1], self._offset, exponent, fraction)
                continue
            assert isinstance(fmt, FixedFormat)
            fields = data.View(fields_layout(fmt), self.code)
            m.d.comb += [
                fraction.eq(Cat(Const(0, FRACTION_BITS - fmt.fraction_bits), fields.fraction)),
                exponent.eq(self._biased(fmt, fields.exponent)),
                subnormal.eq((fields.exponent == 0) & fmt.subnormals),
            ]
        return fraction, exponent, subnormal

    def _biased(self, fmt: FixedFormat, field: Value) -> Value:
        """The exponent of a normal number of `fmt`, plus the offset."""
        if self._bias_port and has_programmable_bias(fmt):
            unbiased = with_bias(fmt, 0)
            assert isinstance(unbiased, FixedFormat)
            return field - self.extra_bias + (self._offset - unbiased.bias)
        return field + (self._offset - fmt.bias)

    def _normalise(self, m: Module, fraction: Signal, exponent: Signal, subnormal: Signal) -> None:
        """Shift a subnormal number's leading 1 out of the fraction; e = 0 has the exponent of e = 1."""
        normalised = Signal.like(fraction)
        excess_zeros = Signal(range(FRACTION_BITS))
        m.d.comb += normalised.eq(fraction)
        with m.If(subnormal):
            for zeros in reversed(range(FRACTION_BITS)):
                shifted = (fraction << (zeros + 1))[:FRACTION_BITS]
                with m.If(fraction[FRACTION_BITS - 1 - zeros]):
                    m.d.comb += [normalised.eq(shifted), excess_zeros.eq(zeros)]
        m.d.comb += [
            self.operand.significand.eq(Cat(normalised, ~self.operand.zero)),
            self.operand.exponent.eq(exponent - excess_zeros),
        ]

    def _keep(self, m: Module, fraction: Signal, exponent: Signal, subnormal: Signal) -> None:
        """A subnormal number without a leading 1, at the exponent of e = 1."""
        m.d.comb += [
            self.operand.significand.eq(Cat(fraction, ~(self.operand.zero | subnormal))),
            self.operand.exponent.eq(exponent + subnormal),
        ]


def _is_nan(fmt: Format, code: Value) -> Value:
    """Whether a code is NaN or NaN-Inf."""
    if isinstance(fmt, FixedFormat) and fmt.specials in (Specials.NAN_ONLY, Specials.MERGED):
        return code[:-1] == fmt.magnitude_mask
    if isinstance(fmt, FixedFormat) and fmt.specials is Specials.IEEE:
        return code[:-1] > fmt.max_code + 1
    nan = fmt.nan_code(False)
    return Const(0) if nan is None else code == nan
