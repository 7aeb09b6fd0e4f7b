"""Buffer for a block that arrives in several operations, until the block's scale is known."""

# The registers of the stored block are reused for the next block. In the clock cycle in which an operation leaves,
# its register can store an operation of the next block. The next block becomes the stored block when its last
# operation has arrived and the old block has left.

from __future__ import annotations

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.units import Quantiser
from fp9_rtl.casts.lanes import largest
from fp9_rtl.pipelines.elastic import StreamComponent
from fp9_rtl.quantisers.quantiser_steps import beside_scale, scaled_layout, scales_of


class Block(StreamComponent):
    """Store a block's operations until the scale is known, then output the operations in order, with the scale.

    The output of a block starts one clock cycle after the last operation of the block has arrived. Reset empties the
    buffer and begins a new block.
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
        self._count(m, lead, enters, leaves, given == last)

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

    def _count(self, m: Module, lead: Signal, enters: Value, leaves: Value, ends: Value) -> None:
        with m.If(leaves & ends):
            m.d.sync += [self.o.valid.eq(0), lead.eq(0)]
        with m.Elif(leaves & ~enters):
            m.d.sync += lead.eq(lead + 1)
        with m.Elif(self.o.valid & enters & ~leaves):
            m.d.sync += lead.eq(lead - 1)
