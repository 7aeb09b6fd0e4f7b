"""Decode operands of at most 8 bits to sign, exponent and significand."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fp9.formats import FixedFormat, Format, HiFloat8, ScaledInteger, Specials, with_bias
from fp9.units import BIAS_BITS, exponent_range, select_width, significand_bits
from fp9_rtl.operands import hif8
from fp9_rtl.parts.layouts import fields_layout, operand_layout
from fp9_rtl.parts.select import switch


def places_above_exponent(formats: Sequence[Format]) -> int:
    # The significand of -128 needs a bit of weight 2.
    return int(any(isinstance(fmt, ScaledInteger) for fmt in formats))


class OperandDecoder(wiring.Component):
    """Combinational decoder from one code, right-aligned in eight bits, to the fields of an operand.

    The input `select` chooses the format. The input `extra_bias` changes the exponent bias of the format hfp8_143. The
    decoded exponent is the true exponent plus a constant, which saves adders in later stages. A subnormal number that
    is not normalised has leading zeros, and the lowest exponent of its format. For NaN, infinity and zero, the exponent
    and the significand have no meaning.
    """

    code: Signal
    select: Signal
    extra_bias: Signal
    operand: data.View[data.StructLayout]

    def __init__(
        self,
        formats: Sequence[Format],
        bias_port: bool,
        offset: int = 0,
        normalise: bool = True,
        aligned: bool = False,
    ) -> None:
        # The exponent of `operand` is the true exponent plus `offset`. If `aligned` is true and `normalise` is false,
        # subnormal numbers have the lowest exponent of their format, and all integers of a format have the same
        # exponent. An aligned significand begins with `places_above_exponent` extra bits.
        low, high = exponent_range(tuple(formats), bias_port)
        self._fraction_bits = significand_bits(formats) - 1
        self._places_above = places_above_exponent(formats) if aligned else 0
        significand = self._fraction_bits + 1 + self._places_above
        super().__init__(
            {
                "code": In(max(8, *(fmt.bits for fmt in formats))),
                "select": In(select_width(len(formats))),
                "extra_bias": In(signed(BIAS_BITS)),
                "operand": Out(operand_layout(range(low + offset, high + offset + 1), significand)),
            }
        )
        self._formats = formats
        self._bias_port = bias_port
        self._offset = offset
        self._normalises = normalise

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._beyond = Signal(self._places_above)
        self._code = self._spread(m)
        self._classify(m)
        fraction, exponent, subnormal = self._unpack(m)
        if self._normalises:
            self._normalise(m, fraction, exponent, subnormal)
        else:
            self._keep(m, fraction, exponent, subnormal)
        return m

    def _spread(self, m: Module) -> Value:
        # In the code of a narrower format, the bits between sign and exponent field are 0.
        if all(fmt.bits == len(self.code) for fmt in self._formats):
            return self.code
        spread = Signal(len(self.code))
        for fmt in switch(m, self.select, self._formats):
            fields = fmt.bits - 1
            m.d.comb += spread.eq(Cat(self.code[:fields], Const(0, len(self.code) - fmt.bits), self.code[fields]))
        return spread

    def _classify(self, m: Module) -> None:
        magnitude = self._code[:-1]
        unsigned_zero = Signal()
        for fmt in switch(m, self.select, self._formats):
            merged = isinstance(fmt, FixedFormat) and fmt.specials in (Specials.MERGED, Specials.NONE)
            m.d.comb += [
                self.operand.nan.eq(is_nan(fmt, self._code)),
                self.operand.inf.eq(magnitude == fmt.inf_code(False) if fmt.has_inf else 0),
                unsigned_zero.eq(merged),
            ]
        is_zero = magnitude == 0
        if any(isinstance(fmt, ScaledInteger) for fmt in self._formats):
            is_zero &= ~(self._is_integer() & self._code[-1])
        m.d.comb += [
            self.operand.zero.eq(is_zero & ~self.operand.nan),
            self.operand.sign.eq(self._code[-1] & ~(is_zero & unsigned_zero)),
        ]

    def _unpack(self, m: Module) -> tuple[Signal, Signal, Signal]:
        fraction = Signal(self._fraction_bits)
        exponent = Signal(self.operand.shape()["exponent"].shape)
        subnormal = Signal()
        for fmt in switch(m, self.select, self._formats):
            if isinstance(fmt, HiFloat8):
                hif8.decode(m, self._code[: fmt.bits - 1], self._offset, exponent, fraction)
                continue
            if isinstance(fmt, ScaledInteger):
                self._unpack_integer(m, fmt, fraction, exponent, subnormal)
                continue
            assert isinstance(fmt, FixedFormat)
            fields = data.View(fields_layout(fmt), self._code[: fmt.bits])
            m.d.comb += [
                fraction.eq(Cat(Const(0, self._fraction_bits - fmt.fraction_bits), fields.fraction)),
                exponent.eq(self._biased(fmt, fields.exponent)),
                subnormal.eq((fields.exponent == 0) & fmt.subnormals),
            ]
        return fraction, exponent, subnormal

    def _is_integer(self) -> Value:
        last = len(self._formats) - 1
        chosen = [
            self.select >= index if index == last else self.select == index
            for index, fmt in enumerate(self._formats)
            if isinstance(fmt, ScaledInteger)
        ]
        return Cat(chosen).any() if last else Const(1, 1)

    def _unpack_integer(
        self, m: Module, fmt: ScaledInteger, fraction: Signal, exponent: Signal, subnormal: Signal
    ) -> None:
        # All integers whose top magnitude bit is 1 are decoded as normal numbers with the same exponent. Smaller
        # integers count as subnormal numbers. The integer -128 has the next higher exponent, unless the significand
        # has an extra bit of weight 2.
        code, magnitude, beyond = self.code[: fmt.bits], Signal(fmt.bits, name="integer"), Signal()
        top = fmt.max_code.bit_length() - 1
        exponent_beyond = 1 if self._places_above else 2
        m.d.comb += [
            magnitude.eq(Mux(code[-1], -code, code)),
            beyond.eq(magnitude[-1]),
            fraction.eq(Cat(Const(0, self._fraction_bits - top), magnitude[:top])),
            subnormal.eq(~magnitude[top] & ~beyond),
            exponent.eq(top - fmt.bias - 1 + self._offset + Mux(beyond, exponent_beyond, magnitude[top])),
        ]
        if self._places_above:
            m.d.comb += self._beyond.eq(beyond)

    def _biased(self, fmt: FixedFormat, field: Value) -> Value:
        if self._bias_port and fmt.programmable_bias:
            unbiased = with_bias(fmt, 0)
            assert isinstance(unbiased, FixedFormat)
            return field - self.extra_bias + (self._offset - unbiased.bias)
        return field + (self._offset - fmt.bias)

    def _normalise(self, m: Module, fraction: Signal, exponent: Signal, subnormal: Signal) -> None:
        # A number with exponent field 0 has the same exponent as a number with exponent field 1.
        normalised = Signal.like(fraction)
        bits = self._fraction_bits
        excess_zeros = Signal(range(bits))
        m.d.comb += normalised.eq(fraction)
        with m.If(subnormal):
            for zeros in reversed(range(bits)):
                shifted = (fraction << (zeros + 1))[:bits]
                with m.If(fraction[bits - 1 - zeros]):
                    m.d.comb += [normalised.eq(shifted), excess_zeros.eq(zeros)]
        m.d.comb += [
            self.operand.significand.eq(Cat(normalised, ~self.operand.zero)),
            self.operand.exponent.eq(exponent - excess_zeros),
        ]

    def _keep(self, m: Module, fraction: Signal, exponent: Signal, subnormal: Signal) -> None:
        leading = ~(self.operand.zero | subnormal | self._beyond)
        m.d.comb += [
            self.operand.significand.eq(Cat(fraction, leading, self._beyond)),
            self.operand.exponent.eq(exponent + subnormal),
        ]


def connect_ports(
    m: Module, decoder: OperandDecoder, ports: data.View[data.StructLayout], code: str, name: str
) -> None:
    m.d.comb += decoder.code.eq(ports[code])
    if f"{name}_format" in ports.shape().members:
        m.d.comb += decoder.select.eq(ports[f"{name}_format"])
    if f"{name}_bias" in ports.shape().members:
        m.d.comb += decoder.extra_bias.eq(ports[f"{name}_bias"])


def is_nan(fmt: Format, code: Value) -> Value:
    # If a format has one code for both NaN and infinity, this code counts as NaN. The top bit of `code` is the sign.
    if isinstance(fmt, FixedFormat) and fmt.specials in (Specials.NAN_ONLY, Specials.MERGED):
        return code[:-1] == fmt.magnitude_mask
    if isinstance(fmt, FixedFormat) and fmt.specials is Specials.IEEE:
        return code[:-1] > fmt.max_code + 1
    nan = fmt.nan_code(False)
    if nan is None:
        return Const(0)
    sign, magnitude = divmod(nan, 1 << (fmt.bits - 1))
    return code == (sign << (len(code) - 1) | magnitude)
