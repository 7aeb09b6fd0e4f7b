"""Build the two registers of a `mac` unit that sums in chunks: the sum of the current chunk, and the total."""

#     products -> (+) -> chunk ---> (+) -> total -> result
#                  ^-------'         ^-------'
#
# Both registers accept one operation per clock cycle, in order.

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data

from fp9.units import Mac, MacOp
from fp9_rtl.accumulators.register import StepLoop
from fp9_rtl.parts.layouts import flags_layout
from fp9_rtl.parts.step import chain
from fp9_rtl.pipelines.elastic import ElasticStage
from fp9_rtl.sums.chunks import join_steps


class ChunkSum(ElasticStage):
    """Register that holds the sum of the current chunk. Its outputs control the register `Total`.

    If the output `joins` is 1, the chunk's sum is added to the total, and the next chunk starts from +0. If the output
    `restarts` is 1, the input `c` replaces the total before the addition.
    """

    def __init__(self, unit: Mac, i: data.StructLayout) -> None:
        self._steps = unit.chunk_steps
        self._loop = StepLoop(unit, i)
        o = {
            "chunk": unit.engine.result.format.bits,
            "flags": flags_layout(),
            "c": i["c"].shape,
            "joins": 1,
            "restarts": 1,
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operation = self.i.payload
        state = Signal(data.StructLayout({"held": self.o.payload.shape(), "filled": range(self._steps)}))
        opens, adds, is_open, full = Signal(), Signal(), Signal(), Signal()
        steps = Signal(range(self._steps + 1))
        held = state.held
        self.give(m, held)
        m.d.comb += [
            opens.eq(operation.op == MacOp.LOAD),
            adds.eq(opens | (operation.op == MacOp.ACCUMULATE)),
            is_open.eq(state.filled != 0),
            steps.eq(Mux(opens, 0, state.filled) + 1),
            full.eq(steps == self._steps),
        ]
        summed = self._loop.sum(m, operation, Mux(is_open & ~opens, held.chunk, 0))
        with self.taken(m):
            m.d.sync += [
                held.flags.eq(Mux(adds, summed.flags.as_value(), 0)),
                held.c.eq(Mux(opens, operation.c, 0)),
                held.joins.eq(Mux(adds, full, is_open & (operation.op >= MacOp.FOLD))),
                held.restarts.eq(opens | (operation.op == MacOp.CLEAR)),
            ]
            with m.If(adds):
                m.d.sync += [held.chunk.eq(summed.result), state.filled.eq(Mux(full, 0, steps))]
            with m.Elif(operation.op != MacOp.HOLD):
                m.d.sync += state.filled.eq(0)
        return m


class Total(ElasticStage):
    """Register that adds the sums of complete chunks to the total, and outputs the total after every operation."""

    def __init__(self, unit: Mac, i: data.StructLayout) -> None:
        self._steps = join_steps(unit.engine)
        super().__init__(i, data.StructLayout({"result": unit.engine.output.bits, "flags": flags_layout()}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operation, state = self.i.payload, Signal(self.o.payload.shape())
        terms = Signal(self._steps[0].i.shape())
        m.d.comb += [
            terms.chunk.eq(operation.chunk),
            terms.c.eq(Mux(operation.restarts, operation.c, state.result)),
        ]
        self.give(m, state)
        joined = chain(m, self._steps, terms)
        with self.taken(m):
            m.d.sync += [
                state.result.eq(Mux(operation.joins, joined.result, terms.c)),
                state.flags.eq(operation.flags.as_value() | Mux(operation.joins, joined.flags.as_value(), 0)),
            ]
        return m
