"""Kulisch accumulator: an exact sum in a fixed-point register, rounded at the output."""

# The accumulation loop contains only one addition, which keeps the critical path short.
#
#     products  ->  placed, added  ->  register + sum  ->  magnitude, normalised, rounded
#                                      ^________|

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from fp9.engines import is_accumulator
from fp9.formats import Format
from fp9.units import Mac, MacOp, product_range
from fp9_rtl.parts.condition import Circuits, Condition, is_absent
from fp9_rtl.parts.layouts import SPECIAL
from fp9_rtl.parts.select import any_of
from fp9_rtl.parts.step import Step, chain, forward
from fp9_rtl.pipelines.cut import clock, cut
from fp9_rtl.pipelines.elastic import Combinational, ElasticStage, Pipeline, StreamComponent
from fp9_rtl.pipelines.netlist import netlist
from fp9_rtl.rounding.rounder import Round
from fp9_rtl.sums.fixed.fixed_sum import product_steps
from fp9_rtl.sums.fixed.places import Window, register_facts, register_window
from fp9_rtl.sums.fixed.sum import Normalise, placed_product
from fp9_rtl.sums.terms import carry_save

LEAST_RESULT_BITS = 16

_STICKY = ("nan", "invalid", "positive_infinity", "negative_infinity", "not_zero")
"""Flags that stay set until LOAD or CLEAR. `not_zero` means that some term was not +0."""


def _has_rounder(fmt: Format) -> bool:
    return fmt.bits >= LEAST_RESULT_BITS and is_accumulator(fmt)


def _without(field: str) -> Condition[Mac]:
    return Condition(
        field, is_absent, "an engine without it", "no preset with engine.step.exact uses it, so it has no circuit"
    )


CIRCUITS = Circuits(
    "a mac with engine.step.exact",
    Mac,
    (
        Condition(
            "engine.result.format",
            lambda _, value: _has_rounder(value),
            "fp32, e8m13, fp16, bf16, dlfloat16, or another format with IEEE or merged special codes and "
            f"{LEAST_RESULT_BITS} bits or more",
            "the rounder counts up from the largest number into infinity or NaN-Inf",
        ),
        _without("engine.nan.zero_bypass"),
        _without("engine.result.flush"),
        _without("engine.result.flush_addend"),
        _without("engine.nan.code"),
        _without("engine.nan.invalid_code"),
        _without("engine.nan.infinity_run"),
    ),
    lambda unit: unit.engine.step.exact,
)


def kulisch_stages(unit: Mac) -> dict[str, StreamComponent]:
    front = [*product_steps(unit, ("op",))]
    front.append(PlaceProducts(unit, front[-1].o.shape()))
    accumulator = KulischAccumulator(unit, front[-1].o.shape())
    back = rounding_steps(unit, accumulator.o.payload.shape())
    before, behind = _split(unit, front, back)
    first = Pipeline(cut(front, before), unit) if before else Combinational(front)
    last = Pipeline(cut(back, behind), unit) if behind else Combinational(back)
    return {"products": first, "accumulator": accumulator, "rounding": last}


def _split(unit: Mac, front: Sequence[Step], back: Sequence[Step]) -> tuple[int, int]:
    stages, products, rounding = unit.stages, netlist(front), netlist(back)
    add = clock(netlist([AddToRegister(unit, front[-1].o.shape())]), 1)

    def slowest(before: int) -> list[int]:
        ahead, behind = clock(products, max(before, 1)), clock(rounding, max(stages - 1 - before, 1))
        return sorted([ahead, add, behind] if before else [ahead + add, behind], reverse=True)

    before = min(range(stages), key=slowest)
    return before, stages - 1 - before


def _register(unit: Mac) -> data.StructLayout:
    return data.StructLayout({"sum": signed(unit.sum_bits), **dict.fromkeys(_STICKY, 1)})


class PlaceProducts(Step):
    """Add the products of one operation in two's complement. The register later adds the output `carry`."""

    name = "place"

    def __init__(self, unit: Mac, i: data.StructLayout) -> None:
        self._unit = unit
        products = product_range(unit.a, unit.b, unit.bias_port)
        total = signed(products.signed_bits(unit.engine.step.products))
        o = {"op": i["op"].shape, "total": total, "carry": 1, **dict.fromkeys(_STICKY, 1)}
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        o, unit = self.o, self._unit
        bits = len(o.total)
        lanes = unit.lane_names("product")
        carries = [self.i[lane].sign for lane in lanes]
        rows: list[Value] = [placed_product(m, unit, self.i[lane], self.i[lane].sign, bits, lane) for lane in lanes]
        # An inverted row is 1 too small; the missing 1 enters as a carry at the lowest bit of a later sum.
        while len(rows) > 2:
            sums, moved = carry_save(m, rows[:3])
            rows = [*rows[3:], sums, Cat(carries.pop(), moved[1:])]
        if len(rows) == 2:
            rows = [(rows[0] + rows[1] + carries.pop())[:bits]]
        products = [self.i[name] for name in unit.lane_names("product")]
        m.d.comb += [
            o.total.eq(rows[0].as_signed()),
            o.carry.eq(carries.pop()),
            o.nan.eq(any_of(product.nan for product in products)),
            o.invalid.eq(any_of(product.invalid for product in products)),
            o.positive_infinity.eq(any_of(product.inf & ~product.sign for product in products)),
            o.negative_infinity.eq(any_of(product.inf & product.sign for product in products)),
            o.not_zero.eq(any_of(product.sign | ~product.zero for product in products)),
        ]
        forward(m, self.i, o, "op")
        return m


class AddToRegister(Step):
    """Compute the next value of the accumulator register.

    The input `kept` is the present value of the register, or 0 if the operation starts a new sum.
    """

    name = "add"

    def __init__(self, unit: Mac, operation: data.StructLayout) -> None:
        terms = {name: operation[name].shape for name in ("total", "carry", *_STICKY)}
        super().__init__(data.StructLayout({"kept": _register(unit), **terms}), _register(unit))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i = self.i
        m.d.comb += self.o.sum.eq(i.kept.sum + i.total + i.carry)
        m.d.comb += [self.o[name].eq(i.kept[name] | i[name]) for name in _STICKY]
        return m


class KulischAccumulator(ElasticStage):
    """Register that accumulates the exact sum of products, and outputs its value after every operation.

    The register changes only when it accepts an operation. It accepts none while the receiver stalls.
    """

    def __init__(self, unit: Mac, i: data.StructLayout) -> None:
        self._add = AddToRegister(unit, i)
        super().__init__(i, _register(unit))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operation, state = self.i.payload, Signal(self.o.payload.shape())
        terms = Signal(self._add.i.shape())
        accumulates = operation.op == MacOp.ACCUMULATE
        m.d.comb += [
            terms.kept.eq(Mux(accumulates, state.as_value(), 0)),
            *(terms[name].eq(operation[name]) for name in terms.shape().members if name != "kept"),
        ]
        self.give(m, state)
        following = chain(m, [self._add], terms)
        with self.taken(m), m.Switch(operation.op):
            with m.Case(MacOp.ACCUMULATE, MacOp.LOAD):
                m.d.sync += state.eq(following)
            with m.Case(MacOp.CLEAR):
                m.d.sync += state.eq(0)
        return m


class Magnitude(Step):
    """Convert the register's sum to magnitude and sign, and detect infinite, NaN and invalid results."""

    name = "magnitude"

    def __init__(self, window: Window, i: data.StructLayout) -> None:
        super().__init__(i, data.StructLayout({"sum": window.bits, "sign": 1, "subtract": 1, **SPECIAL}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        negative = i.sum[-1]
        magnitude = Signal(len(i.sum))
        infinite = i.positive_infinity | i.negative_infinity
        invalid = i.invalid | (i.positive_infinity & i.negative_infinity)
        m.d.comb += [
            magnitude.eq(Mux(negative, -i.sum, i.sum)),
            o.sum.eq(magnitude),
            o.sign.eq(Mux(infinite, i.negative_infinity, negative)),
            o.subtract.eq(i.not_zero),
            o.inf.eq(infinite),
            o.nan.eq(i.nan | invalid),
            o.invalid.eq(invalid & ~i.nan),
        ]
        return m


def rounding_steps(unit: Mac, i: data.StructLayout) -> list[Step]:
    fmt = unit.engine.result.format
    window = register_window(unit)
    magnitude = Magnitude(window, i)
    normalise = Normalise(fmt, window, magnitude.o.shape())
    facts = register_facts(unit, window)
    return [magnitude, normalise, Round(unit.engine, facts, normalise.o.shape())]
