"""Compare two candidate scales of a block by their sums of squared errors."""

# The scale with the smaller sum is chosen; in a tie, the first scale. For numbers x, their elements e, the scale s
# and the tensor scale t, the squared error of the block is sum (x - e s t)^2. The circuit compares t s^2 sum e^2 - 2
# s sum x e, which is smallest for the scale s with the smallest error. Both values are compared exactly, as integers:
#
# * Elements are integer multiples of the smallest element. Both scales are integer multiples of the first scale's
#   last place. The tensor scale t is an integer multiple of its own last place.
# * Numbers with a non-zero element are only a few binades below amax, the largest magnitude of the block. They are
#   integer multiples of a power of two a fixed number of binades below amax.
# * The second scale is better if t (S2^2 sum e2^2 - S1^2 sum e1^2) < 2 (S2 sum x e2 - S1 sum x e1). The units of both
#   sides differ by a power of two. Few powers are possible, because amax is about 2 to 9 times the product s t.
# * The circuit compares the magnitudes of both sides. If the left side is negative, the right side is negated. The
#   tensor scale t therefore multiplies an unsigned number, whose width the module `difference_bounds` computes.
#
# If both scales have the same code, the first scale is chosen.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import Format, floor_log2, pow2
from fp9.units import TENSOR_SCALE, Quantiser
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step
from fp9_rtl.quantisers.difference_bounds import counts, difference_bounds
from fp9_rtl.quantisers.limits import code_names, middles, results
from fp9_rtl.quantisers.quotient import tensor_fields
from fp9_rtl.quantisers.rules import scale_names, tries

_FARTHEST = Fraction(3, 2)
"""Largest ratio of an exact quotient to its rounded scale, if the scale is neither zero nor the largest."""

_NEAREST = Fraction(1, 2)
"""Smallest ratio of an exact quotient to its rounded scale."""


class Better(Step):
    """Output a block's scale and elements for the better of two scales: the scale with the smaller squared error."""

    name = "better"

    def __init__(self, unit: Quantiser, i: data.StructLayout) -> None:
        self._unit = unit
        super().__init__(i, ports_layout(unit.outputs))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit, i = self._unit, self.i
        first, second = scale_names(unit)
        better = Signal()
        m.d.comb += better.eq((i[first] != i[second]) & second_is_closer(m, unit, i))
        for name, *both in zip(
            self.o.shape().members, *(results(unit, i, scale) for scale in (second, first)), strict=True
        ):
            m.d.comb += self.o[name].eq(Mux(better, *both))
        return m


@dataclass(frozen=True, slots=True)
class _Sums:
    """Two sums over a block's numbers x and elements e: the sum of e^2 and the sum of the products x * e."""

    squares: Value
    products: Value


def second_is_closer(m: Module, unit: Quantiser, i: data.View[data.StructLayout]) -> Value:
    """Return whether the second candidate scale gives the smaller squared error."""
    # The two scales must differ.
    (first, exponent), (second, other) = (_significand(unit.block.scale, i[name]) for name in scale_names(unit))
    numbers = _Numbers(m, unit, i)
    mine, others = (numbers.sums([i[name] for name in code_names(unit, scale)]) for scale in scale_names(unit))
    twice, most = other != exponent, difference_bounds(unit)
    square, its_square = Signal(2 * len(first)), Signal(2 * len(second))
    squares = _within(unit.width * most.squares)
    products = _within(unit.width * most.elements * numbers.largest)
    m.d.comb += [
        square.eq(first * first),
        its_square.eq(second * second),
        squares.eq(Mux(twice, its_square << 2, its_square) * others.squares - square * mine.squares),
        products.eq(Mux(twice, second << 1, second) * others.products - first * mine.products),
    ]
    tensor = tensor_fields(i.tensor)
    places, least, farthest = _places(unit)
    distance = Signal((farthest - least).bit_length())
    m.d.comb += distance.eq(_field(unit, i.amax) - tensor.exponent - exponent + (places - least))
    bits = TENSOR_SCALE.precision + max(0, -least)
    left = Signal(range(unit.width * most.squares << bits))
    right = _within(unit.width * most.products << bits)
    falls = squares < 0
    m.d.comb += [
        left.eq((abs(squares) * Cat(tensor.fraction, Const(1, 1))) << max(0, -least)),
        right.eq((Mux(falls, -products, products) << distance) << max(0, least)),
    ]
    return Mux(falls, right < left, left < right)


def _within(most: int) -> Signal:
    return Signal(range(-most, most + 1))


def _significand(fmt: Format, code: Value) -> tuple[Value, Value]:
    bits = fmt.precision - 1
    field, normal = code[bits:], code[bits:].any()
    return Cat(code[:bits], normal), (field - normal)[: len(field)]


def _field(unit: Quantiser, x: Value) -> Value:
    # A subnormal number has the exponent of the smallest normal number.
    field = x[unit.source.fraction_bits :]
    return field + ~field.any()


def _window(unit: Quantiser) -> int:
    return floor_log2(_FARTHEST * max(tries(unit)) / middles(unit.block)[0]) + 1


class _Numbers:
    """The magnitudes of a block's numbers, each stored as a significand and a left shift."""

    def __init__(self, m: Module, unit: Quantiser, i: data.View[data.StructLayout]) -> None:
        self._m, self._unit, self._numbers = m, unit, []
        bits, window = unit.source.fraction_bits, _window(unit)
        self.largest = ((1 << unit.source.precision) - 1) << window
        lowest = Signal(window.bit_length())
        m.d.comb += lowest.eq(_field(unit, i.amax) - window)
        for x in unit.lane_names("x"):
            magnitude = i[x][:-1]
            power = Signal(window.bit_length(), name="power")
            m.d.comb += power.eq(_field(unit, magnitude) - lowest)
            self._numbers.append((Cat(magnitude[:bits], magnitude[bits:].any()), power))

    def sums(self, codes: Sequence[Value]) -> _Sums:
        m, element = self._m, self._unit.block.element
        sizes = counts(element)
        squares, products = [], []
        for (number, power), code in zip(self._numbers, codes, strict=True):
            square, product = Signal(range(sizes[-1] ** 2 + 1)), Signal(range(sizes[-1] * self.largest + 1))
            significand, exponent = _significand(element, code)
            m.d.comb += product.eq((number * significand) << (power + exponent))
            for size in switch(m, code, sizes):
                m.d.comb += square.eq(size**2)
            squares.append(square)
            products.append(product)
        return _Sums(_total(m, squares), _total(m, products))


def _total(m: Module, values: Sequence[Value]) -> Value:
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    low, high = _total(m, values[:half]), _total(m, values[half:])
    total = Signal(max(len(low), len(high)) + 1, name="total")
    m.d.comb += total.eq(low + high)
    return total


def _places(unit: Quantiser) -> tuple[int, int, int]:
    source, scale, element = unit.source, unit.block.scale, unit.block.element
    finer = 1 - _window(unit) - floor_log2(element.value_of(1))  # factor 2, unit of x, smallest element
    last = scale.min_normal_exponent - scale.precision + 1  # last place of the smallest scale
    offset = TENSOR_SCALE.fraction_bits - source.fraction_bits - last + finer
    least = _NEAREST * min(tries(unit)) * pow2(TENSOR_SCALE.fraction_bits) / ((1 << source.precision) - 1)
    most = _FARTHEST * max(tries(unit)) * ((1 << scale.precision) - 1) * pow2(TENSOR_SCALE.precision)
    return offset, floor_log2(least) + finer, floor_log2(most) + finer
