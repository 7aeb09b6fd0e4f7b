"""Keep the multiplier's inputs constant if a factor is zero (IBM's zero bypass, HFP8 4.2)."""

# In a unit with enough pipeline stages, a register keeps the factors of an earlier operation if the product is zero:
#
#     decode -> register -> multiply -> mask -> ...      signs and special flags always pass
#
# The mask stage sets the product to zero. In a unit with fewer stages, AND gates before the multiplier set both
# factors to zero. Gating applies only if both factors are finite, so 0 x Inf and 0 x NaN are computed as usual.

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data

from fp9.units import Dot
from fp9.units.hooks import Hook
from fp9_rtl.parts.step import Step, chain
from fp9_rtl.pipelines.elastic import ElasticStage
from fp9_rtl.sums.multiply import DecodeOperands, Multiply

_GATED = ("significand", "exponent")


def stages_before_sum(unit: Dot) -> int:
    """Return the number of register stages before the accumulation loop."""
    if not unit.has_state:
        return unit.stages
    return unit.stages - (1 if unit.engine.chunk.length is None else 2)


holds: Hook[[], bool] = Hook(
    "held factors",
    {Dot: lambda unit: unit.gate_zeros and not unit.engine.step.exact and stages_before_sum(unit) > 1},
    otherwise=lambda unit: False,
)
"""Return whether a register holds the factors. The register and the multiplier each need a pipeline stage."""


def product_steps(unit: Dot, decode: DecodeOperands, multiply: Multiply) -> list[Step]:
    if not unit.gate_zeros:
        return [decode, multiply]
    if holds(unit):
        return [decode, multiply, MaskZeros(unit, multiply.o.shape())]
    return [decode, IsolateZeros(unit, decode.o.shape()), multiply]


def _lanes(unit: Dot) -> list[tuple[str, str]]:
    return list(zip(unit.lane_names("a"), unit.lane_names("b"), strict=True))


def _is_zero(a: data.View[data.StructLayout], b: data.View[data.StructLayout]) -> Value:
    return (a.zero & ~b.inf & ~b.nan) | (b.zero & ~a.inf & ~a.nan)


class IsolateZeros(Step):
    """Set the significands and exponents of both factors to 0 if their product is zero."""

    name = "isolate"

    def __init__(self, unit: Dot, i: data.StructLayout) -> None:
        self._lanes = _lanes(unit)
        super().__init__(i, i)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.i)
        for number, (a, b) in enumerate(self._lanes):
            moves = Signal(name=f"moves{number}")
            m.d.comb += moves.eq(~_is_zero(self.i[a], self.i[b]))
            for factor in (a, b):
                for field in _GATED:
                    value = self.i[factor][field]
                    m.d.comb += self.o[factor][field].eq(value & moves.replicate(len(value)))
        return m


class MaskZeros(Step):
    """Set the significand of a product to 0 if its flag `zero` is 1.

    For a zero product, the multiplier still receives the factors of an earlier operation, so its output is wrong.
    """

    name = "mask"

    def __init__(self, unit: Dot, i: data.StructLayout) -> None:
        self._products = unit.lane_names("product")
        super().__init__(i, i)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.i)
        for name in self._products:
            product = self.i[name]
            taken = (~product.zero).replicate(len(product.significand))
            m.d.comb += self.o[name].significand.eq(product.significand & taken)
        return m


class HeldFactors(ElasticStage):
    """Decode the operands, and store the factors of each product in an elastic register.

    If a product is zero, the register keeps the significands and exponents of earlier factors, so that the multiplier
    does not toggle.

    The register always stores the first operation after a reset, so that a simulator does not propagate unknown
    register bits to the result.
    """

    def __init__(self, unit: Dot, decode: Step) -> None:
        self._lanes, self._decode, self._resets_data = _lanes(unit), decode, unit.reset_data
        super().__init__(decode.i.shape(), decode.o.shape())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        factors = chain(m, [self._decode], self.i.payload)
        held, holds = Signal(self.o.payload.shape(), reset_less=not self._resets_data), Signal()
        moves: dict[str, Value] = {}
        for number, (a, b) in enumerate(self._lanes):
            lane_moves = Signal(name=f"moves{number}")
            m.d.comb += lane_moves.eq(~(holds & _is_zero(factors[a], factors[b])))
            moves |= {a: lane_moves, b: lane_moves}
        self.give(m, held)
        with self.taken(m):
            m.d.sync += holds.eq(1)
            for name in self.o.payload.shape().members:
                if name not in moves:
                    m.d.sync += held[name].eq(factors[name])
                    continue
                for field in held[name].shape().members:
                    with m.If(moves[name] if field in _GATED else 1):
                        m.d.sync += held[name][field].eq(factors[name][field])
        return m
