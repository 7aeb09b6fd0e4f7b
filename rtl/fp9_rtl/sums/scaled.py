"""Add scaled products and an addend exactly, for block formats such as MX and NVFP4."""

#     products in fixed point -> sum -> times the scales -> normalise -> + c -> one rounding
#
# If a scaled sum is below the result's lowest exponent, it is shifted right, and the lost bits become a sticky bit.
# The sum still has enough bits to be rounded correctly. The addend is added last, so an accumulator repeats only this
# addition in each cycle.

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data

from fp9.engines import Addend, Scaling
from fp9.formats import Format
from fp9.units import Dot, product_range
from fp9_rtl.parts.condition import Circuits, Condition, is_absent
from fp9_rtl.parts.layouts import SPECIAL
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.rounding.facts import SumFacts
from fp9_rtl.rounding.rounder import Round
from fp9_rtl.sums import adder
from fp9_rtl.sums.blocks import AddBlocks, ScaleBlocks, SumBlocks
from fp9_rtl.sums.fixed.sum import placed_product
from fp9_rtl.sums.scaling import ScaledTerm, ScaleFields, scale_names
from fp9_rtl.sums.terms import classify, signed_sum
from fp9_rtl.sums.window import window_sum as window
from fp9_rtl.sums.window.scaled import scaled_terms

MOST_PLACES = 1 << 8
"""Maximum distance in bit positions between the scales of two blocks, for an exact sum of the blocks."""


def has_one_block(unit: Dot) -> bool:
    """Return whether all products of an accumulation step share one pair of scales."""
    return unit.products == unit.products_of_scales


def _span(scale: Format) -> int:
    fields = ScaleFields(scale)
    return 2 * (fields.highest_field - fields.lowest_field)


_SCALED = (
    Condition[Dot](
        "engine.step.scaling",
        lambda _, value: value is Scaling.PRODUCTS,
        "products",
        "the circuits scale products, and not the sums of chunks",
    ),
    Condition[Dot](
        "engine.result.format",
        lambda _, value: value.subnormals,
        "a format with subnormal numbers, such as fp32 or fp16",
        "the circuit shifts a scaled sum below the normal range to a subnormal number",
    ),
    Condition[Dot](
        "scale",
        lambda unit, value: not (value.has_zero and any(fmt.has_inf for fmt in (*unit.a, *unit.b))),
        "a scale without zero, such as e8m0, or formats of a and b without infinities",
        "the circuits have no invalid operation of an infinity and a scale of zero",
    ),
)

_SCALED_WINDOW = (
    Condition[Dot](
        "engine.window.addend",
        lambda _, value: value is Addend.INSIDE,
        "inside",
        "the circuits align scaled products and the addend in one step",
    ),
    Condition[Dot](
        "engine.window.zero_exponent",
        lambda _, value: value is not None,
        "an integer, such as -133",
        "the circuits align a zero that a scale multiplies with this exponent",
    ),
    Condition[Dot](
        "engine.window.interleaved",
        is_absent,
        "a window without it",
        "the circuits join the sums of even and odd products without scales",
    ),
)

_ONE_TERM = "the products of a chunk come to its join as one term, the scaled sum of one exact step in its own format"

_SCALED_CHUNK = (
    Condition[Dot](
        "engine.window.width",
        is_absent,
        "an exact step, which has none, or a mac",
        _ONE_TERM,
    ),
    Condition[Dot](
        "engine.chunk.length",
        lambda unit, value: value == unit.engine.step.products,
        "the products of one step, or a mac",
        _ONE_TERM,
    ),
    Condition[Dot](
        "engine.chunk.promotion",
        is_absent,
        "chunks without it, or a mac",
        _ONE_TERM,
    ),
)

_SCALED_BLOCKS = (
    Condition[Dot](
        "scale",
        lambda _, value: _span(value) <= MOST_PLACES,
        f"a format whose products of two scales lie within {MOST_PLACES} places, such as ue4m3, or leave out block",
        "the circuit adds the sums of blocks in fixed point, which needs bits for every difference of their scales",
    ),
    Condition[Dot](
        "engine.nan.infinity_run",
        is_absent,
        "steps without it, or leave out block",
        "infinities cancel among products, and the sums of blocks do not show which products were infinite",
    ),
)


def _is_scaled(unit: Dot) -> bool:
    return unit.scale is not None


CIRCUITS = (
    Circuits("scaled products", Dot, _SCALED, _is_scaled),
    Circuits(
        "windows of scaled products",
        Dot,
        _SCALED_WINDOW,
        lambda unit: _is_scaled(unit) and unit.engine.window.width is not None,
    ),
    Circuits(
        "scaled chunks of a dot or fma",
        Dot,
        _SCALED_CHUNK,
        lambda unit: _is_scaled(unit) and unit.engine.chunk.length is not None and not unit.has_state,
    ),
    Circuits(
        "an exact sum of scaled blocks",
        Dot,
        _SCALED_BLOCKS,
        lambda unit: _is_scaled(unit) and unit.engine.window.width is None and not has_one_block(unit),
    ),
)


def product_steps(unit: Dot, i: data.StructLayout, passed: tuple[str, ...]) -> list[Step]:
    """Return the stages that multiply the products, or their block sums, by the scales."""
    if unit.engine.window.width is not None:
        return scaled_terms(unit, i, passed)
    if has_one_block(unit):
        summed = SumProducts(unit, i, passed)
        return [summed, ScaleSum(unit, summed.o.shape(), passed)]
    size = unit.products_of_scales
    blocks = SumBlocks(unit, size, i, passed)
    scaled = ScaleBlocks(unit, size, blocks.o.shape(), passed)
    return [blocks, scaled, AddBlocks(unit, size, scaled.o.shape(), passed)]


def sum_steps(unit: Dot, i: data.StructLayout) -> list[Step]:
    if unit.engine.window.width is not None:
        return window.sum_steps(unit, i)
    bias = unit.engine.result.format.bias
    exponents = i["product"].shape["exponent"].shape
    facts = SumFacts(range(exponents.start - bias, exponents.stop - bias), below_normal=True, overflow=True)
    added = adder.addition(unit.engine, facts, i)
    return [*added, Round(unit.engine, facts, added[-1].o.shape())]


class SumProducts(Step):
    """Add the products exactly, and output the sum as a magnitude and a sign.

    Bit 0 of the sum's magnitude has the weight of the lowest bit that a product can have.
    """

    name = "sum"

    def __init__(self, unit: Dot, i: data.StructLayout, passed: tuple[str, ...]) -> None:
        self._unit, self._rounding, self._passed = unit, unit.engine.result.rounding, (*scale_names(unit), *passed)
        self._bits = product_range(unit.a, unit.b, unit.bias_port).signed_bits(unit.products) - 1
        beside = {name: i[name].shape for name in self._passed}
        super().__init__(i, data.StructLayout({"sum": self._bits, "sign": 1, "zero_sign": 1, **SPECIAL, **beside}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        names = self._unit.lane_names("product")
        products = [i[name] for name in names]
        plain = Const(0, 1)
        placed = [placed_product(m, self._unit, i[name], plain, self._bits, name) for name in names]
        terms = [(bits, product.sign) for bits, product in zip(placed, products, strict=True)]
        magnitude, negative = signed_sum(m, terms, self._bits)
        special = Signal(data.StructLayout({**SPECIAL, "subtract": 1}))
        infinite_sign = classify(m, products, None, special, self._unit.engine.nan.infinity_run)
        m.d.comb += [
            o.sum.eq(magnitude),
            o.sign.eq(Mux(special.inf, infinite_sign, negative)),
            # Zeros of equal sign keep the sign; any other zero sum is a cancellation.
            o.zero_sign.eq(Mux(special.subtract, self._rounding.cancels_to_minus, products[0].sign)),
            o.nan.eq(special.nan & ~special.invalid),
        ]
        forward(m, special, o, "inf", "invalid")
        forward(m, i, o, *self._passed)
        return m


class ScaleSum(Step):
    """Multiply the sum of the products by both scales.

    The exponent of the scaled sum has the result's bias and is at least 1.
    """

    name = "scale"

    def __init__(self, unit: Dot, i: data.StructLayout, passed: tuple[str, ...]) -> None:
        assert unit.scale is not None
        self._passed = passed
        self._scale, self._scales = ScaleFields(unit.scale), scale_names(unit)
        self._bits = i["sum"].width + self._scale.product_bits
        first = self._scale.first_place(unit, self._bits)
        self._first = first.start - 2 * self._scale.lowest_field
        self._term = ScaledTerm(unit, self._bits, first)
        beside = {name: i[name].shape for name in passed}
        super().__init__(i, data.StructLayout({"product": self._term.layout, **beside}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, product = self.i, self.o.product
        fields, significands, unusable, zero = self._scale.read(m, [i[name] for name in self._scales])
        exact, finite_zero = Signal(self._bits), Signal()
        m.d.comb += exact.eq(self._scale.times(i.sum, significands, zero))
        self._term.drive(m, product, exact, fields[0] + fields[1] + self._first, finite_zero)
        m.d.comb += [
            finite_zero.eq(~i.sum.any() | zero),
            product.zero.eq(finite_zero & ~i.inf),
            product.sign.eq(Mux(finite_zero & ~i.inf, i.zero_sign, i.sign)),
            product.nan.eq(i.nan | unusable),
        ]
        forward(m, i, product, "inf", "invalid")
        forward(m, i, self.o, *self._passed)
        return m
