"""Multiply products, or sums of product groups, by their scales before alignment."""

# Single products have power-of-two scales. Each group of products has two scales of any format.

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data

from fp9.units import Dot
from fp9_rtl.parts.layouts import product_layout
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.sums.blocks import ScaleBlocks, SumBlocks
from fp9_rtl.sums.scaling import ScaleFields
from fp9_rtl.sums.window.align import lowest_of_zeros, places_above, window_bits


def scaled_terms(unit: Dot, i: data.StructLayout, passed: tuple[str, ...]) -> list[Step]:
    """Return the stages that turn products and scales into scaled terms for the alignment."""
    group = unit.engine.step.group
    if group is None:
        return [ScaleProducts(unit, i, passed)]
    summed = SumBlocks(unit, group, i, passed)
    return [summed, ScaleBlocks(unit, group, summed.o.shape(), passed, _lowest(unit))]


def _lowest(unit: Dot) -> int:
    """Return an exponent so low that the alignment shifts out all bits of a term."""
    # Zeros and addends have higher exponents than the returned one, so they determine the window's position.
    return min(lowest_of_zeros(unit), places_above(unit)) - window_bits(unit)


class ScaleProducts(Step):
    """Add the scale exponents to the products' exponents.

    If a scaled product is so small that the alignment shifts out all its bits, its exponent is raised to a fixed
    minimum.
    """

    name = "scale"

    def __init__(self, unit: Dot, i: data.StructLayout, passed: tuple[str, ...]) -> None:
        assert unit.scale is not None
        self._unit, self._passed, self._scale = unit, passed, ScaleFields(unit.scale)
        plain = i[unit.lane_names("product")[0]].shape
        unscaled, both = plain["exponent"].shape, 2 * self._scale.offset
        first = unscaled.start + both + 2 * self._scale.lowest_field
        self._lowest = _lowest(unit)
        self._sinks = first < self._lowest
        highest = unscaled.stop - 1 + both + 2 * self._scale.highest_field
        exponents = range(max(first, self._lowest), max(highest, self._lowest) + 1)
        scaled = product_layout(exponents, plain["significand"].width)
        products = dict.fromkeys(unit.lane_names("product"), scaled)
        super().__init__(i, data.StructLayout({**products, **{name: i[name].shape for name in passed}}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit = self._unit
        lanes, size = unit.lane_names("product"), unit.products_of_scales
        names = zip(unit.scale_names("a"), unit.scale_names("b"), strict=True)
        for block, scales in enumerate(names):
            fields, significands, unusable, zero = self._scale.read(m, [self.i[name] for name in scales])
            both = fields[0] + fields[1] + 2 * self._scale.offset
            moves = Signal.like(both, name=f"scale_of_block{block}")
            m.d.comb += moves.eq(both)
            for lane in lanes[block * size :][:size]:
                product, scaled = self.i[lane], self.o[lane]
                exponent = product.exponent + moves
                if self._sinks:
                    exponent = Mux(exponent < self._lowest, self._lowest, exponent)
                m.d.comb += [
                    scaled.significand.eq(self._scale.times(product.significand, significands, zero)),
                    scaled.exponent.eq(exponent),
                    scaled.zero.eq(product.zero | zero),
                    scaled.nan.eq(product.nan | unusable),
                ]
                forward(m, product, scaled, "sign", "inf", "invalid")
        forward(m, self.i, self.o, *self._passed)
        return m
