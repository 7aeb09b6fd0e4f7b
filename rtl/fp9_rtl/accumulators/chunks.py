"""Registers of a `mac` unit with chunks: one for the open chunk, one for the total.

    products -> (+) -> chunk ---> (+) -> total -> result
                 ^-------'         ^-------'

The two registers are the last two register stages of the unit. Each register is updated from its current value in one
clock cycle, through a feedback loop. The first register accumulates the products of the current chunk. When a chunk is
complete, the second register adds its sum to the total. No operation waits for another operation in these registers,
and all operations keep their order.
"""

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
    """Register that accumulates the current chunk, and controls the register of the total.

    If the output `joins` is 1, the register of the total adds the chunk's sum. If the output `restarts` is 1, the
    register of the total first loads `c`. The output `flags` holds the exception flags of the latest addition to the
    chunk. After a chunk's sum was added to the total, the next chunk starts from +0.
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
    """Register of the total, whose inputs are the outputs of `ChunkSum`.

    The register stage outputs the total after every operation.
    """

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
