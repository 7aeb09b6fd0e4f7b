"""A block that comes in several operations: kept until its scale is known, while the next one takes its place.

Both blocks live in one set of places, as many as a block has operations: an operation is taken into the place that one
of the block before leaves in the same clock, or has left before. So a block takes as many clocks as it has operations,
with half of the registers of two buffers. A block is complete with its last operation; that one is taken where the
last of the block before leaves, and its scale follows that one's.

    | place of the next operation | operation that leaves next | taken                               |
    |-----------------------------|----------------------------|-------------------------------------|
    | w                           | w + lead, lead > 0         | yes: its place is free              |
    | w                           | w                          | in the clock in which that one goes |
"""

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data

from fp9.units import Quantiser
from fp9_rtl.casts.lanes import largest
from fp9_rtl.pipelines.elastic import StreamComponent
from fp9_rtl.quantisers.quantiser_steps import beside_scale, scaled_layout, scales_of


class Block(StreamComponent):
    """Operations with their largest magnitude in; the same operations with their block's scale out, in order.

    The first comes out in the clock after the last has come in. Reset empties it and begins a block.
    """

    def __init__(self, unit: Quantiser, i: data.StructLayout) -> None:
        self._unit = unit
        super().__init__(i, scaled_layout(unit))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit, i, o = self._unit, self.i, self.o
        last = unit.group - 1
        taken = Signal(range(unit.group))
        lead = Signal(range(unit.group))
        numbers = data.ArrayLayout(unit.source.bits, unit.width)
        places = Array(Signal(numbers, name=f"place{number}", reset_less=True) for number in range(unit.group))
        amax = Signal(unit.source.bits - 1)
        scale = Signal(unit.block.scale.bits, reset_less=True)
        beside = {name: Signal(width, name=name, reset_less=True) for name, width in beside_scale(unit).items()}

        given = Signal(range(unit.group))
        enters = i.valid & i.ready
        leaves = o.valid & o.ready
        m.d.comb += [given.eq(taken + lead), i.ready.eq(~o.valid | (lead != 0) | o.ready)]
        with m.If(leaves & (given == last)):
            m.d.sync += [o.valid.eq(0), lead.eq(0)]
        with m.Elif(leaves & ~enters):
            m.d.sync += lead.eq(lead + 1)
        with m.Elif(o.valid & enters & ~leaves):
            m.d.sync += lead.eq(lead - 1)

        reached = Signal.like(amax)
        m.d.comb += reached.eq(largest(m, [amax, i.payload.amax]))
        code = scales_of(m, unit, reached, i.payload)["scale"]
        with m.If(enters):
            m.d.sync += [
                *(places[taken][lane].eq(i.payload[x]) for lane, x in enumerate(unit.lane_names("x"))),
                taken.eq(Mux(taken == last, 0, taken + 1)),
                amax.eq(Mux(taken == last, 0, reached)),
            ]
            with m.If(taken == last):
                m.d.sync += [o.valid.eq(1), scale.eq(code)]
                m.d.sync += [held.eq(i.payload[name]) for name, held in beside.items()]

        m.d.comb += o.payload.scale.eq(scale)
        m.d.comb += [o.payload[name].eq(held) for name, held in beside.items()]
        for lane, x in enumerate(unit.lane_names("x")):
            m.d.comb += o.payload[x].eq(places[given][lane])
        return m
