"""A unit with stages behind AXI4-Stream ports: operands in, results out, `tlast` with its operation.

`tdata` holds the unit's ports in port order from bit 0, zeros above them up to whole bytes; see `interfaces` for the
offsets. Clock and reset are the unit's `clk` and `rst` (active high). A `tvalid` does not wait for its `tready`.
"""

from __future__ import annotations

import itertools

from amaranth.hdl import Cat, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fp9.units import Port, Unit
from fp9_rtl.build import build
from fp9_rtl.export import component_verilog, preamble
from fp9_rtl.pipeline import ElasticRegister

_LAST = data.StructLayout({"last": 1})


def tdata_bits(ports: tuple[Port, ...]) -> int:
    """Width of the `tdata` that carries these ports: whole bytes."""
    return -(-sum(port.width for port in ports) // 8) * 8


class AxiStream(wiring.Component):
    """AXI4-Stream slave `s_axis_*` for a unit's operands and master `m_axis_*` for its results.

    The `tlast` bits go through a chain of registers beside the unit, whose handshakes move in step with the unit's.
    """

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        members: dict[str, wiring.Member] = {}
        for name, ports, given, taken in (("s_axis", unit.inputs, In, Out), ("m_axis", unit.outputs, Out, In)):
            members |= {
                f"{name}_tdata": given(tdata_bits(ports)),
                f"{name}_tlast": given(1),
                f"{name}_tvalid": given(1),
                f"{name}_tready": taken(1),
            }
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = build(self._unit)
        m.d.comb += [
            Cat(getattr(unit, port.name) for port in self._unit.inputs).eq(self.s_axis_tdata),
            unit.in_valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(unit.in_ready),
            self.m_axis_tdata.eq(Cat(getattr(unit, port.name) for port in self._unit.outputs)),
            self.m_axis_tvalid.eq(unit.out_valid),
            unit.out_ready.eq(self.m_axis_tready),
        ]
        last, valid = self.s_axis_tlast, self.s_axis_tvalid
        registers = [ElasticRegister(_LAST) for _ in range(self._unit.stages)]
        for number, register in enumerate(registers, start=1):
            m.submodules[f"last{number}"] = register
            m.d.comb += [register.i.payload.last.eq(last), register.i.valid.eq(valid)]
            last, valid = register.o.payload.last, register.o.valid
        for register, following in itertools.pairwise(registers):
            m.d.comb += register.o.ready.eq(following.i.ready)
        m.d.comb += [registers[-1].o.ready.eq(self.m_axis_tready), self.m_axis_tlast.eq(last)]
        return m


def axi_stream(unit: Unit) -> AxiStream:
    """The wrapper of a unit. Raises ValueError for a unit without stages, which has no handshake."""
    if not unit.stages:
        raise ValueError(f"{unit.name}: an AXI4-Stream needs a clock; give 1 stage or more")
    return AxiStream(unit)


def axi_stream_verilog(unit: Unit) -> str:
    """Verilog of the wrapper as one module `NAME_axis` with the unit inside. Deterministic to the byte."""
    body = component_verilog(axi_stream(unit), f"{unit.name}_axis")
    used, wide = sum(port.width for port in unit.inputs), tdata_bits(unit.inputs)
    if used < wide:
        # Verilator says nothing about bits that a signal of this name reads.
        padding = f"  wire unused_padding = &{{1'b0, s_axis_tdata[{wide - 1}:{used}]}};\n"
        body = body.replace("endmodule", f"{padding}endmodule", 1)
    note = "// AXI4-Stream: tdata holds the ports below in their order from bit 0, whole bytes; clk, rst as below."
    return "\n".join([note, *preamble(unit), "", body])
