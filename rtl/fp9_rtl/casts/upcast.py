"""Build the datapath of the `upcast` unit, which converts an 8-bit code to a 16- or 32-bit float."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat
from fp9.units import Upcast, exponent_range
from fp9_rtl.operands.decode import OperandDecoder, connect_ports
from fp9_rtl.parts.layouts import flags_layout, ports_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step
from fp9_rtl.rounding.specials import packed_magnitude


class UpcastStep(Step):
    """Decode the operand, then encode the number or special code in the result format."""

    name = "upcast"

    def __init__(self, unit: Upcast) -> None:
        assert isinstance(unit.result, FixedFormat)
        self._formats = unit.formats
        self._result = unit.result
        self._exponents = exponent_range(unit.formats, unit.bias_port)
        self._decoder = OperandDecoder(unit.formats, unit.bias_port, offset=unit.result.bias)
        result = {"result": unit.result.bits, "flags": flags_layout()}
        super().__init__(ports_layout(unit.inputs), data.StructLayout(result))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.operand = decoder = self._decoder
        operand, flags = decoder.operand, self.o.flags
        connect_ports(m, decoder, self.i, "code", "code")
        finite, overflow, infinite = Signal(), Signal(), Signal()
        m.d.comb += [
            finite.eq(~(operand.zero | operand.inf | operand.nan)),
            overflow.eq(finite & self._too_large(operand.exponent)),
            infinite.eq(operand.inf | overflow),
            flags.overflow.eq(overflow),
            flags.inexact.eq(overflow),
            flags.invalid.eq(operand.inf & (not self._result.has_inf)),
        ]
        self._pack(m, Mux(finite, self._magnitude(m, operand), 0), infinite)
        return m

    def _too_large(self, exponent: Value) -> Value:
        # The exponent alone decides, because the result has more fraction bits than the operand.
        fmt = self._result
        return exponent > fmt.highest_exponent + fmt.bias if self._exponents[1] > fmt.highest_exponent else Const(0)

    def _magnitude(self, m: Module, operand: data.View[data.StructLayout]) -> Value:
        # If the result is subnormal, its fraction contains the leading 1.
        fmt = self._result
        room = fmt.padding + fmt.precision - len(operand.significand)
        normal = Cat(Const(0, room), operand.significand[:-1], operand.exponent[: fmt.exponent_bits])
        if self._exponents[0] >= fmt.min_normal_exponent:
            return normal
        places = Signal(range(fmt.min_normal_exponent - self._exponents[0] + 1))
        m.d.comb += places.eq(1 - operand.exponent)
        subnormal = Cat(Const(0, room), operand.significand) >> places
        return Mux(operand.exponent < 1, subnormal, normal)

    def _pack(self, m: Module, magnitude: Value, infinite: Value) -> None:
        # A NaN keeps its sign if both formats have a NaN of each sign.
        fmt, operand = self._result, self._decoder.operand
        sign = Signal()
        m.d.comb += sign.eq(operand.sign)
        with m.If(operand.nan):
            select = self.i.code_format if len(self._formats) > 1 else Const(0, 0)
            for source in switch(m, select, self._formats):
                m.d.comb += sign.eq(self.i.code[source.bits - 1] & (source.nan_code(False) != source.nan_code(True)))
        code = packed_magnitude(m, fmt, magnitude, operand.nan, infinite)
        m.d.comb += self.o.result.eq(Cat(code, self._sign(sign, code, operand.nan, infinite)))

    def _sign(self, sign: Value, code: Value, nan: Value, infinite: Value) -> Value:
        # If the result format codes NaN as -0, the sign bit of NaN is 1.
        fmt = self._result
        if fmt.signed_zero:
            return sign
        is_nan = nan if fmt.has_inf else nan | infinite
        if fmt.nan_code(False) == fmt.sign_mask:
            return (sign & (code != 0)) | is_nan
        return sign & (code != 0) & ~infinite & ~nan
