"""Datapath of the `decoder` unit."""

from __future__ import annotations

from amaranth.hdl import Module

from fp9.units import Decoder
from fp9_rtl.operands.decode import OperandDecoder, connect_ports
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.step import Step


class Decode(Step):
    """Connect the operand decoder to the unit's ports."""

    name = "decode"

    def __init__(self, unit: Decoder) -> None:
        self._decoder = OperandDecoder(unit.formats, unit.bias_port)
        super().__init__(ports_layout(unit.inputs), ports_layout(unit.outputs))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.operand = decoder = self._decoder
        connect_ports(m, decoder, self.i, "code", "code")
        for name in self.o.shape().members:
            m.d.comb += self.o[name].eq(decoder.operand[name])
        return m
