"""Add the products of each block exactly, and multiply each block sum by its scales."""

#     products in fixed point -> sum of each block -> times its scales -> window, or one exact fixed-point sum
#
# The exponent of a scaled block sum is a sum of scale exponents, so it is known before the block sum. The scaled
# block sums are either truncated to an addition window, or added exactly (NVFP4).

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data

from fp9.units import Dot, product_range
from fp9_rtl.parts.layouts import SPECIAL, product_layout
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.sums.fixed.sum import placed_product
from fp9_rtl.sums.scaling import ScaledTerm, ScaleFields, scale_names
from fp9_rtl.sums.terms import classify, signed_sum


def block_names(unit: Dot, size: int) -> tuple[str, ...]:
    return unit.lane_names("product")[: unit.products // size]


def sum_bits(unit: Dot, size: int) -> int:
    return product_range(unit.a, unit.b, unit.bias_port).signed_bits(size) - 1


def scaled_places(unit: Dot, size: int) -> int:
    assert unit.scale is not None
    scale = ScaleFields(unit.scale)
    first = scale.first_place(unit, sum_bits(unit, size) + scale.product_bits)
    return first.start - 2 * (scale.lowest_field + scale.offset) - unit.engine.result.format.bias


def exact_ends(unit: Dot) -> tuple[str, ...]:
    return ("zero_sign",) if unit.engine.window.width is None else ()


class SumBlocks(Step):
    """Add the products of each block exactly, and output each sum as a magnitude and a sign.

    A block's flag `zero` is 1 if all its products are zero. The field `zero_sign` is the sign of a total sum that is
    zero. If all products are zeros of the same sign, the total sum keeps this sign. If the products cancel, the
    rounding mode determines the sign of the zero sum.
    """

    name = "sum"

    def __init__(self, unit: Dot, size: int, i: data.StructLayout, passed: tuple[str, ...]) -> None:
        self._unit, self._size, self._passed = unit, size, (*scale_names(unit), *passed)
        self._ends = exact_ends(unit)
        self._names = block_names(unit, size)
        self._bits = sum_bits(unit, size)
        block = data.StructLayout({"sum": self._bits, "sign": 1, "zero": 1, **SPECIAL})
        beside = {name: i[name].shape for name in self._passed}
        ends = dict.fromkeys(self._ends, 1)
        super().__init__(i, data.StructLayout({**dict.fromkeys(self._names, block), **ends, **beside}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._unit.lane_names("product")
        for number, name in enumerate(self._names):
            self._sum(m, lanes[number * self._size :][: self._size], self.o[name], name)
        if self._ends:
            signs = Cat(self.i[lane].sign for lane in lanes)
            cancels = self._unit.engine.result.rounding.cancels_to_minus
            m.d.comb += self.o.zero_sign.eq(Mux(signs.any() & ~signs.all(), cancels, signs[0]))
        forward(m, self.i, self.o, *self._passed)
        return m

    def _sum(self, m: Module, lanes: tuple[str, ...], block: data.View[data.StructLayout], name: str) -> None:
        products = [self.i[lane] for lane in lanes]
        terms = [
            (placed_product(m, self._unit, self.i[lane], Const(0, 1), self._bits, lane), self.i[lane].sign)
            for lane in lanes
        ]
        magnitude, negative = signed_sum(m, terms, self._bits)
        special = Signal(data.StructLayout({**SPECIAL, "subtract": 1}), name=f"{name}_special")
        infinite_sign = classify(m, products, None, special)
        m.d.comb += [
            block.sum.eq(magnitude),
            block.sign.eq(Mux(special.inf, infinite_sign, negative)),
            block.zero.eq(Cat(product.zero for product in products).all()),
            block.nan.eq(special.nan & ~special.invalid),
        ]
        forward(m, special, block, "inf", "invalid")


class ScaleBlocks(Step):
    """Multiply each block sum by the two scales of its block, without normalising the product.

    Exponents below `lowest` are raised to `lowest`.
    """

    name = "scale"

    def __init__(
        self, unit: Dot, size: int, i: data.StructLayout, passed: tuple[str, ...], lowest: int | None = None
    ) -> None:
        assert unit.scale is not None
        self._scale, self._lowest = ScaleFields(unit.scale), lowest
        self._passed = (*exact_ends(unit), *passed)
        self._names = block_names(unit, size)
        shared = unit.products_of_scales // size
        self._scales = [
            (unit.scale_names("a")[number // shared], unit.scale_names("b")[number // shared])
            for number in range(len(self._names))
        ]
        self._bits = sum_bits(unit, size) + self._scale.product_bits
        first = self._scale.first_place(unit, self._bits)
        self._first = first.start - 2 * self._scale.lowest_field
        exponents = first if lowest is None else range(max(first.start, lowest), max(first.stop, lowest + 1))
        self._sinks = exponents.start > first.start
        term = product_layout(exponents, self._bits)
        beside = {name: i[name].shape for name in self._passed}
        super().__init__(i, data.StructLayout({**dict.fromkeys(self._names, term), **beside}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        for name, scales in zip(self._names, self._scales, strict=True):
            block, term = i[name], o[name]
            fields, significands, unusable, zero = self._scale.read(m, [i[scale] for scale in scales])
            exponent = fields[0] + fields[1] + self._first
            if self._sinks:
                exponent = Mux(exponent < self._lowest, self._lowest, exponent)
            m.d.comb += [
                term.significand.eq(self._scale.times(block.sum, significands, zero)),
                term.exponent.eq(exponent),
                term.zero.eq((block.zero | zero) & ~block.inf),
                term.nan.eq(block.nan | unusable),
            ]
            forward(m, block, term, "sign", "inf", "invalid")
        forward(m, i, o, *self._passed)
        return m


class AddBlocks(Step):
    """Add all scaled block sums exactly, and output the normalised total as sign, exponent, significand and flags."""

    name = "add_blocks"

    def __init__(self, unit: Dot, size: int, i: data.StructLayout, passed: tuple[str, ...]) -> None:
        self._names, self._passed = block_names(unit, size), passed
        term = i[self._names[0]].shape
        exponents = term["exponent"].shape
        self._places = len(exponents) - 1
        self._bits = term["significand"].width + self._places + (len(self._names) - 1).bit_length()
        self._first = exponents.start + self._bits - term["significand"].width
        self._lowest = exponents.start
        self._term = ScaledTerm(unit, self._bits, range(self._first, self._first + 1))
        beside = {name: i[name].shape for name in passed}
        super().__init__(i, data.StructLayout({"product": self._term.layout, **beside}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, product = self.i, self.o.product
        blocks = [i[name] for name in self._names]
        rows = []
        for name, block in zip(self._names, blocks, strict=True):
            distance = Signal(range(self._places + 1), name=f"distance_of_{name}")
            placed = Signal(self._bits, name=f"{name}_placed")
            m.d.comb += [distance.eq(block.exponent - self._lowest), placed.eq(block.significand << distance)]
            rows.append((placed, block.sign))
        magnitude, negative = signed_sum(m, rows, self._bits)
        special = Signal(data.StructLayout({**SPECIAL, "subtract": 1}))
        infinite_sign, zero = classify(m, blocks, None, special), Signal()
        self._term.drive(m, product, magnitude, Const(self._first), zero)
        m.d.comb += [
            zero.eq(~magnitude.any()),
            product.zero.eq(zero & ~special.inf),
            product.sign.eq(Mux(special.inf, infinite_sign, Mux(zero, i.zero_sign, negative))),
            product.nan.eq(special.nan & ~special.invalid),
        ]
        forward(m, special, product, "inf", "invalid")
        forward(m, i, self.o, *self._passed)
        return m
