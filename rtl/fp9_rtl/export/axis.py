"""Wrap a pipelined unit in AXI4-Stream ports.

`tdata` holds the unit's ports in order, from bit 0 upwards, followed by zeros up to a whole byte. Port names follow
AMBA AXI-Stream (IHI 0051): operands enter at `s_axis_*`, and results leave at `m_axis_*`. The reset `aresetn` is active
low and is sampled at the rising edge of `aclk`. The wrapper sets `tvalid` without waiting for `tready`.
"""

from __future__ import annotations

import itertools

from amaranth.hdl import Cat, ClockDomain, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fp9.units import Port, Unit, non_defaults
from fp9_rtl.components import build
from fp9_rtl.export.header import header
from fp9_rtl.export.verilog import component_verilog
from fp9_rtl.pipelines.elastic import ElasticRegister

MAX_USER_BITS = 64


def tdata_bits(ports: tuple[Port, ...]) -> int:
    return -(-sum(port.width for port in ports) // 8) * 8


def stream_members(unit: Unit, user_bits: int = 0) -> dict[str, wiring.Member]:
    """Return the ports of a unit's AXI4-Stream wrapper, by name."""
    if sentence := stream_refusal(unit):
        raise ValueError(f"{unit.name}: {sentence}")
    if not 0 <= user_bits <= MAX_USER_BITS:
        raise ValueError(f"{unit.name}: {user_bits} user bits given; give 0 to {MAX_USER_BITS}")
    members: dict[str, wiring.Member] = {"aclk": In(1), "aresetn": In(1)}
    for name, ports, given, taken in (("s_axis", unit.inputs, In, Out), ("m_axis", unit.outputs, Out, In)):
        members |= {
            f"{name}_tdata": given(tdata_bits(ports)),
            f"{name}_tlast": given(1),
            f"{name}_tvalid": given(1),
            f"{name}_tready": taken(1),
        }
        if user_bits:
            members[f"{name}_tuser"] = given(user_bits)
    return members


class AxiStream(wiring.Component):
    """AXI4-Stream wrapper of a unit. The port `s_axis_*` takes operands, and the port `m_axis_*` outputs results.

    `tlast` and `tuser` pass through as many registers as the unit has pipeline stages. `tuser` does not exist if
    `user_bits` is 0.
    """

    def __init__(self, unit: Unit, user_bits: int = 0) -> None:
        self._unit, self._user_bits = unit, user_bits
        super().__init__(stream_members(unit, user_bits))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain()
        domain.clk = self.aclk
        m.submodules.unit = unit = build(self._unit)
        m.d.comb += [
            domain.rst.eq(~self.aresetn),
            Cat(getattr(unit, port.name) for port in self._unit.inputs).eq(self.s_axis_tdata),
            unit.in_valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(unit.in_ready),
            self.m_axis_tdata.eq(Cat(getattr(unit, port.name) for port in self._unit.outputs)),
            self.m_axis_tvalid.eq(unit.out_valid),
            unit.out_ready.eq(self.m_axis_tready),
        ]
        self._beside(m)
        return m

    def _beside(self, m: Module) -> None:
        beside = data.StructLayout({"last": 1, "user": self._user_bits})
        registers = [ElasticRegister(beside) for _ in range(self._unit.stages)]
        for number, register in enumerate(registers, start=1):
            m.submodules[f"beside{number}"] = register
        for register, following in itertools.pairwise(registers):
            wiring.connect(m, register.o, following.i)
        first, last = registers[0], registers[-1]
        enters, leaves = self.s_axis_tvalid, self.m_axis_tready
        if self._unit.extra_clocks:
            # The registers are a queue, because a slow operation stays in a stage while its `tlast` advances.
            enters, leaves = enters & self.s_axis_tready, leaves & self.m_axis_tvalid
        m.d.comb += [
            first.i.payload.last.eq(self.s_axis_tlast),
            first.i.valid.eq(enters),
            last.o.ready.eq(leaves),
            self.m_axis_tlast.eq(last.o.payload.last),
        ]
        if self._user_bits:
            m.d.comb += [
                first.i.payload.user.eq(self.s_axis_tuser),
                self.m_axis_tuser.eq(last.o.payload.user),
            ]


def stream_refusal(unit: Unit) -> str | None:
    """Return the reason why a unit cannot have an AXI4-Stream wrapper, or None."""
    if unit.group > 1:
        return (
            f"{unit.group} operations form a block with one common scale; give a unit with one result for each "
            "operation, such as a quantiser without lanes"
        )
    if not unit.stages:
        return "an AXI4-Stream needs a clock; give 1 stage or more"
    given = [*non_defaults(unit)]
    return f"{given[0]} given; an AXI4-Stream has its own reset and handshake: leave it out" if given else None


def axi_stream(unit: Unit, user_bits: int = 0) -> AxiStream:
    """Return the AXI4-Stream wrapper of a unit as an Amaranth component.

    Raises ValueError if the unit can have no wrapper, or if `user_bits` is above `MAX_USER_BITS`.
    """
    return AxiStream(unit, user_bits)


def axi_stream_verilog(unit: Unit, user_bits: int = 0) -> str:
    body = component_verilog(axi_stream(unit, user_bits), f"{unit.name}_axis")
    note = "// AXI4-Stream: tdata holds the ports below in their order from bit 0; aclk is clk, aresetn is not rst."
    options = f"--wrapper axis{f' --user-bits {user_bits}' if user_bits else ''} -o {unit.name}_axis.v"
    return "\n".join([note, *header(unit, options), "", body])
