"""Build the Amaranth component of a unit from its specification."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from amaranth.hdl import ClockDomain, EnableInserter, Module, ResetInserter, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fp9.units import (
    Cast,
    Decoder,
    Division,
    Dot,
    Fpu,
    Handshake,
    Mac,
    Mul,
    MultiFpu,
    Port,
    Quantiser,
    Reset,
    Unit,
    Upcast,
)
from fp9.units.hooks import Hook
from fp9_rtl.accumulators import kulisch
from fp9_rtl.accumulators.chunks import ChunkSum, Total
from fp9_rtl.accumulators.kulisch import kulisch_stages
from fp9_rtl.accumulators.register import Accumulator
from fp9_rtl.casts import target
from fp9_rtl.casts.cast_steps import cast_steps
from fp9_rtl.casts.lanes import RunningAmax
from fp9_rtl.casts.upcast import UpcastStep
from fp9_rtl.fpu import steps as fpu
from fp9_rtl.fpu.lanes import multi_stages, multi_steps
from fp9_rtl.operands.unit import Decode
from fp9_rtl.parts.condition import Circuits
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.step import Step, chain
from fp9_rtl.pipelines.cut import cut
from fp9_rtl.pipelines.elastic import Combinational, Pipeline, StreamComponent
from fp9_rtl.quantisers import quantiser_steps as quantisers
from fp9_rtl.quantisers.block import Block
from fp9_rtl.sums import engine_step as sums
from fp9_rtl.sums import gating
from fp9_rtl.sums.product import product_steps


def build(unit: Unit) -> wiring.Component:
    """Return the Amaranth component of a unit, with its data ports and, for a pipelined unit, the handshake.

    Raises ValueError for a specification without hardware.
    """
    check_offered(unit)
    return UnitComponent(unit)


CIRCUITS: tuple[Circuits[Any], ...] = (target.CIRCUITS, fpu.CIRCUITS, kulisch.CIRCUITS, *sums.CIRCUITS)


def check_offered(unit: Unit) -> None:
    """Raise ValueError if the RTL does not support a unit. The message names the first unsupported field."""
    for circuits in CIRCUITS:
        for refusal in circuits.refusals(unit):
            raise ValueError(refusal)


unit_steps: Hook[[], list[Step]] = Hook(
    "RTL",
    {
        Decoder: lambda unit: [Decode(unit)],
        Upcast: lambda unit: [UpcastStep(unit)],
        Cast: cast_steps,
        Quantiser: quantisers.quantiser_steps,
        Fpu: fpu.fpu_steps,
        MultiFpu: multi_steps,
        Mul: product_steps,
        Dot: sums.dot_steps,
    },
)


class UnitComponent(wiring.Component):
    """A unit as an Amaranth component with flat ports: data ports, handshake and enable.

    By default, Amaranth adds the clock and a synchronous, active-high reset. If the reset is asynchronous or
    active-low, the component has its own clock and reset ports.
    """

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self.initially_unknown = unit.handshake is Handshake.VALID
        self._own_reset = unit.reset is not Reset.SYNC
        brought = () if self._own_reset else ("clk", "rst")
        members = _members(unit.inputs, In) | _members(unit.outputs, Out)
        members |= _members([p for p in unit.control_inputs if p.name not in brought], In)
        super().__init__(members | _members(unit.control_outputs, Out))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit = self._unit
        operands = Signal(ports_layout(unit.inputs))
        for port in unit.inputs:
            m.d.comb += operands[port.name].eq(getattr(self, port.name))
        results = self._clocked(m, operands) if unit.stages else chain(m, unit_steps(unit), operands)
        for port in unit.outputs:
            m.d.comb += getattr(self, port.name).eq(results[port.name])
        return m

    def _clocked(self, m: Module, operands: data.View[data.StructLayout]) -> data.View[data.StructLayout]:
        named = _stages(self._unit)
        stages = list(named.values())
        first, last = stages[0], stages[-1]
        if self._own_reset:
            self._reset(m)
        for name, stage in named.items():
            enabled = EnableInserter(self.enable)(stage) if self._unit.enable else stage
            m.submodules[name] = ResetInserter(self.flush)(enabled) if self._unit.flush else enabled
        for upstream, downstream in itertools.pairwise(stages):
            wiring.connect(m, upstream.o, downstream.i)
        m.d.comb += [
            first.i.payload.eq(operands),
            first.i.valid.eq(self.in_valid),
            self.out_valid.eq(last.o.valid),
        ]
        if self._unit.handshake is Handshake.READY:
            m.d.comb += [self.in_ready.eq(first.i.ready), last.o.ready.eq(self.out_ready)]
        else:
            m.d.comb += last.o.ready.eq(1)
        return last.o.payload

    def _reset(self, m: Module) -> None:
        reset = self._unit.reset
        pin = getattr(self, reset.port)
        m.domains.sync = domain = ClockDomain(async_reset=reset.is_async)
        domain.clk = self.clk
        if reset.active:
            domain.rst = pin
        else:
            m.d.comb += domain.rst.eq(~pin)


def _members(ports: Iterable[Port], direction: type[In]) -> dict[str, wiring.Member]:
    return {port.name: direction(signed(port.width) if port.signed else port.width) for port in ports}


def _front(unit: Unit, steps: Sequence[Step], stages: int) -> dict[str, StreamComponent]:
    return {"pipeline": Pipeline(cut(steps, stages), unit) if stages else Combinational(steps)}


def _pipeline(unit: Unit) -> dict[str, StreamComponent]:
    return _front(unit, unit_steps(unit), unit.stages)


def _sum_front(unit: Dot, steps: Sequence[Step], stages: int) -> dict[str, StreamComponent]:
    if not gating.holds(unit):
        return _front(unit, steps, stages)
    return {
        "factors": gating.HeldFactors(unit, steps[0]),
        "pipeline": Pipeline(cut(steps[1:], stages - 1), unit),
    }


def _accumulator_stages(unit: Mac) -> dict[str, StreamComponent]:
    if unit.engine.step.exact:
        return kulisch_stages(unit)
    steps = sums.product_steps(unit, ("op", "c"))
    products = steps[-1].o.shape()
    accumulators: dict[str, StreamComponent]
    if unit.engine.chunk.length is None:
        accumulators = {"accumulator": Accumulator(unit, products)}
    else:
        chunk = ChunkSum(unit, products)
        accumulators = {"chunk": chunk, "total": Total(unit, chunk.o.payload.shape())}
    return _sum_front(unit, steps, unit.stages - len(accumulators)) | accumulators


def _block_stages(unit: Quantiser) -> dict[str, StreamComponent]:
    if unit.lanes is None:
        return _pipeline(unit)
    amax = quantisers.Largest(unit)
    block = Block(unit, amax.o.shape())
    steps, stages = quantisers.element_steps(unit), unit.stages - 1
    elements = Pipeline(cut(steps, stages)) if stages else Combinational(steps)
    return {"largest": Combinational([amax]), "block": block, "elements": elements}


def _cast_stages(unit: Cast) -> dict[str, StreamComponent]:
    if not unit.amax:
        return _pipeline(unit)
    *earlier, last = cut(unit_steps(unit), unit.stages)
    amax = RunningAmax(unit, last, last[0].i.shape())
    return {"pipeline": Pipeline(earlier, unit), "amax": amax} if earlier else {"amax": amax}


def _multi_fpu_stages(unit: MultiFpu) -> dict[str, StreamComponent]:
    if unit.division is Division.ARRAY:
        return _pipeline(unit)
    before, divider, after = multi_stages(unit)
    pipeline = Pipeline(cut(after, unit.stages - 1), unit)
    return {"operands": Combinational(before), "divider": divider, "pipeline": pipeline}


_stages: Hook[[], dict[str, StreamComponent]] = Hook(
    "RTL with stages",
    {
        Cast: _cast_stages,
        Quantiser: _block_stages,
        Dot: lambda unit: _sum_front(unit, unit_steps(unit), unit.stages),
        Mac: _accumulator_stages,
        MultiFpu: _multi_fpu_stages,
    },
    otherwise=_pipeline,
)
