"""Elastic pipelines: register stages with valid/ready handshakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fp9.units import Clocking, Handshake
from fp9_rtl.parts.step import Step, chain

AS_EVER = Clocking()
"""Default clocking, for specifications without register options."""


class StreamComponent(wiring.Component):
    """A component with an input stream of layout `i` and an output stream of layout `o`.

    A transfer happens in each clock cycle in which `valid` and `ready` are both 1.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, i: data.StructLayout, o: data.StructLayout) -> None:
        super().__init__({"i": In(stream.Signature(i)), "o": Out(stream.Signature(o))})


class ElasticStage(StreamComponent):
    """A register stage that accepts an operation if its register is empty or is emptied in the same clock cycle.

    The output remains valid until the receiver accepts it. A reset empties the stage. Subclasses define what the
    register holds.
    """

    def give(self, m: Module, held: Value) -> None:
        m.d.comb += [self.i.ready.eq(~self.o.valid | self.o.ready), self.o.payload.eq(held)]

    @contextmanager
    def taken(self, m: Module) -> Iterator[None]:
        """Open a context for register assignments that happen only when the stage accepts an operation."""
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
        with m.If(self.i.ready & self.i.valid):
            yield


class ElasticRegister(ElasticStage):
    """A register stage that stores its input.

    The stored data need no reset, because the valid bit is 0 after a reset.
    """

    def __init__(self, layout: data.StructLayout, clocking: Clocking = AS_EVER) -> None:
        self._clocking = clocking
        super().__init__(layout, layout)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(self.i.payload.shape(), reset_less=not self._clocking.reset_data)
        self.give(m, held)
        if self._clocking.handshake is Handshake.VALID:
            # Without back-pressure, the register stores its input in every clock cycle.
            m.d.sync += [self.o.valid.eq(self.i.valid), held.eq(self.i.payload)]
            return m
        with self.taken(m):
            m.d.sync += held.eq(self.i.payload)
        return m


class Combinational(StreamComponent):
    """A chain of datapath stages between two streams, without a register."""

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__(steps[0].i.shape(), steps[-1].o.shape())
        self._steps = steps

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.o.payload.eq(chain(m, self._steps, self.i.payload)),
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready),
        ]
        return m


class Pipeline(StreamComponent):
    """Several chains of datapath stages, with an elastic register after each chain.

    The latency in clock cycles is the number of elastic registers.
    """

    def __init__(self, runs: Sequence[Sequence[Step]], clocking: Clocking = AS_EVER) -> None:
        super().__init__(runs[0][0].i.shape(), runs[-1][-1].o.shape())
        self._runs, self._clocking = runs, clocking

    def elaborate(self, platform: object) -> Module:
        m = Module()
        upstream = wiring.flipped(self.i)
        for number, run in enumerate(self._runs, start=1):
            payload = chain(m, run, upstream.payload)
            m.submodules[f"register{number}"] = register = ElasticRegister(payload.shape(), self._clocking)
            m.d.comb += [
                register.i.payload.eq(payload),
                register.i.valid.eq(upstream.valid),
                upstream.ready.eq(register.i.ready),
            ]
            upstream = register.o
        wiring.connect(m, upstream, wiring.flipped(self.o))
        return m
