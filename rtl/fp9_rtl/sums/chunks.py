"""Sum a chunk of products in one operation, then add the chunk's sum to the running total."""

#     products -> step -> step -> ... -> (+) -> result
#                +0 ^                     ^ c
#
# The accumulation steps of a chunk are separate adders in series. A `mac` unit, whose single adder does all steps,
# uses only the final addition to the total.

from __future__ import annotations

from collections.abc import Callable, Sequence

from amaranth.hdl import Const, Module
from amaranth.lib import data

from fp9.engines import Engine
from fp9.units import Dot
from fp9_rtl.operands.addend import flush_addend, unpack_addend
from fp9_rtl.parts.layouts import flags_layout, product_layout
from fp9_rtl.parts.shifters import shift_left_normalising
from fp9_rtl.parts.step import Beside, Step, chain, forward
from fp9_rtl.rounding.facts import join_facts
from fp9_rtl.rounding.rounder import Round
from fp9_rtl.sums.adder import addition


def chunk_steps(unit: Dot, i: data.StructLayout, step: Callable[[data.StructLayout], list[Step]]) -> list[Step]:
    """Return the stages that sum a chunk of products, and add the chunk's sum to the total `c`."""
    chunk = Chunk(unit, i, step)
    joins = [Beside(joining, {"raised": flags_layout()}) for joining in join_steps(unit.engine)]
    return [chunk, *joins, Raise(joins[-1].o.shape())]


class Chunk(Step):
    """Run all accumulation steps of a chunk of products in series. The total `c` passes through unchanged.

    The output `raised` is the OR of the flags of all accumulation steps.
    """

    name = "chunk"

    def __init__(self, unit: Dot, i: data.StructLayout, step: Callable[[data.StructLayout], list[Step]]) -> None:
        engine = unit.engine
        products = unit.lane_names("product")
        self._lanes = (
            [[products[k] for k in order] for order in interleaved(engine)] if unit.scale is None else [["product"]]
        )
        own = ("product",) if len(self._lanes[0]) == 1 else products[: engine.step.products]
        terms = data.StructLayout({**dict.fromkeys(own, i[self._lanes[0][0]].shape), "c": engine.result.format.bits})
        self._own = own
        self._steps = [step(terms) for _ in self._lanes]
        o = {"chunk": engine.result.format.bits, "c": i["c"].shape, "raised": flags_layout()}
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chunk, raised = Const(0, len(self.o.chunk)), Const(0, len(self.o.raised.as_value()))
        for number, (lanes, steps) in enumerate(zip(self._lanes, self._steps, strict=True)):
            summed = _Chained(steps)
            m.submodules[f"step{number}"] = summed
            m.d.comb += [summed.i[name].eq(self.i[lane]) for name, lane in zip(self._own, lanes, strict=True)]
            m.d.comb += summed.i.c.eq(chunk)
            chunk, raised = summed.o.result, raised | summed.o.flags.as_value()
        m.d.comb += [self.o.chunk.eq(chunk), self.o.raised.eq(raised)]
        forward(m, self.i, self.o, "c")
        return m


class _Chained(Step):
    """One datapath stage that contains several stages in series."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        super().__init__(steps[0].i.shape(), steps[-1].o.shape())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(chain(m, self._steps, self.i))
        return m


class Raise(Step):
    """Combine the flags of the final addition with the flags of all accumulation steps, by OR."""

    name = "raise"

    def __init__(self, i: data.StructLayout) -> None:
        super().__init__(i, data.StructLayout({name: i[name].shape for name in ("result", "flags")}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.flags.eq(self.i.flags.as_value() | self.i.raised.as_value())
        forward(m, self.i, self.o, "result")
        return m


def interleaved(engine: Engine) -> list[list[int]]:
    assert engine.chunk.length is not None, "the steps of a chunk"
    order = engine.order(engine.chunk.length)
    return [
        order[start : start + engine.step.products] for start in range(0, engine.chunk.length, engine.step.products)
    ]


def join_steps(engine: Engine) -> list[Step]:
    """Return the stages that add a chunk's sum to the running total."""
    facts, unpack = join_facts(engine), UnpackChunk(engine)
    added = addition(engine.joining, facts, unpack.o.shape())
    return [unpack, *flush_addend(engine, unpack.o.shape()), *added, Round(engine.joining, facts, added[-1].o.shape())]


class UnpackChunk(Step):
    """Decode a chunk's sum to sign, exponent, significand and special flags, in the layout of a product
    (`product_layout`).

    The exponent of the decoded chunk sum has the bias of the running total's format. A subnormal chunk sum is
    normalised if the total's format has no subnormals, or has a smaller lowest exponent than the chunk's format. A
    subnormal sum that is not normalised keeps the lowest exponent of the chunk's format.
    """

    name = "unpack"

    def __init__(self, engine: Engine) -> None:
        chunk, total = engine.result.format, engine.output
        self._format = chunk
        self._rebias = total.bias - chunk.bias
        same_lowest = total.subnormals and chunk.lowest_exponent <= total.lowest_exponent
        self._normalises = chunk.subnormals and not same_lowest
        exponents = join_facts(engine).products
        biased = range(exponents.start + total.bias, exponents.stop + total.bias)
        product = product_layout(biased, chunk.precision)
        c = engine.addend_format.bits
        super().__init__(
            data.StructLayout({"chunk": chunk.bits, "c": c}), data.StructLayout({"product": product, "c": c})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chunk, product = unpack_addend(m, self._format, self.i.chunk, "chunk"), self.o.product
        significand, exponent = chunk.significand, chunk.exponent + self._rebias
        if self._normalises:
            significand, shift = shift_left_normalising(m, significand, None, Const(0))
            exponent = exponent - shift
        m.d.comb += [product.significand.eq(significand), product.exponent.eq(exponent)]
        forward(m, chunk, product, "sign", "zero", "inf", "nan")
        forward(m, self.i, self.o, "c")
        return m
