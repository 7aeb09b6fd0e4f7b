"""Accumulator register of a `mac` unit, whose value returns to the adder within one clock cycle."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.units import Mac, MacOp
from fp9_rtl.parts.layouts import flags_layout
from fp9_rtl.parts.step import chain
from fp9_rtl.pipelines.elastic import ElasticStage
from fp9_rtl.sums.engine_step import sum_steps


class StepLoop:
    """Datapath that adds products to the accumulated value."""

    def __init__(self, unit: Mac, i: data.StructLayout) -> None:
        self._names = tuple(name for name, _ in i if name not in ("op", "c"))
        step = replace(unit, engine=unit.engine.within_chunk)
        addend = {"c": step.engine.result.format.bits}
        terms = data.StructLayout({name: addend.get(name, i[name].shape) for name, _ in i if name != "op"})
        self._steps = sum_steps(step, terms)

    def sum(self, m: Module, operation: data.View[data.StructLayout], addend: Value) -> data.View[data.StructLayout]:
        terms = Signal(self._steps[0].i.shape())
        m.d.comb += [terms[name].eq(operation[name]) for name in self._names]
        m.d.comb += terms.c.eq(addend)
        return chain(m, self._steps, terms)


class Accumulator(ElasticStage):
    """Register that accumulates the products of operations, and outputs its value after every operation.

    The value of the register changes only when the register accepts an operation. While a result waits for a stalled
    receiver, the register accepts no operation.
    """

    def __init__(self, unit: Mac, i: data.StructLayout) -> None:
        self._loop = StepLoop(unit, i)
        super().__init__(i, data.StructLayout({"result": unit.engine.output.bits, "flags": flags_layout()}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operation, state = self.i.payload, Signal(self.o.payload.shape())
        self.give(m, state)
        total = self._loop.sum(m, operation, Mux(operation.op == MacOp.ACCUMULATE, state.result, operation.c))
        with self.taken(m), m.Switch(operation.op):
            with m.Case(MacOp.ACCUMULATE, MacOp.LOAD):
                m.d.sync += state.eq(total)
            with m.Case(MacOp.CLEAR):
                m.d.sync += state.eq(state.shape().const({"result": 0, "flags": {}}))
            with m.Case(MacOp.HOLD):
                m.d.sync += state.flags.eq(flags_layout().const({}))
        return m
