"""Quantise to a format with few element codes, by comparing each number with one limit for each code."""

# Each number x is quantised to the element nearest to x / (s t), with the block's scale s and the tensor scale t. The
# circuit does not divide: it multiplies the midpoints between elements by both scales, once for each block. Each
# number is compared with the exact products:
#
#     midpoint s t = 1.fffffff|rest 2^e  ->  limit = e fffffff r      r: OR of all bits of the rest
#     x reaches it if  x 0 > limit (ties down), or  x 1 > limit (ties up, to the even element)

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from fp9.formats import FixedFormat
from fp9.formats.blocks import BlockFormat
from fp9.units import TENSOR_SCALE, Quantiser
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.shifters import shift_left_narrow, shift_right_sticky
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.quantisers.quotient import tensor_fields
from fp9_rtl.quantisers.rules import scale_names


def middles(block: BlockFormat) -> list[Fraction]:
    """Return the midpoints between neighbouring element magnitudes."""
    element = block.element
    numbers = [element.value_of(code) for code in range(element.max_code + 1)]
    return [(low + high) / 2 for low, high in itertools.pairwise(numbers)]


def limit_names(unit: Quantiser, scale: str) -> tuple[str, ...]:
    return tuple(f"{scale}_limit{number}" for number in range(1, unit.block.element.max_code + 1))


def code_names(unit: Quantiser, scale: str) -> tuple[str, ...]:
    return tuple(f"{scale}_{name}" for name in unit.lane_names("element"))


class Limits(Step):
    """Compute the rounding limits between neighbouring element magnitudes, and forward the block's numbers and scales.

    A limit is the midpoint of two neighbouring element magnitudes, multiplied by the block's scale and the tensor
    scale. If the block's scale is zero, the step replaces all rounding limits by a value above every number, so all
    elements become 0.
    """

    name = "limits"

    def __init__(self, unit: Quantiser, i: data.StructLayout) -> None:
        self._unit = unit
        fields = [name for scale in scale_names(unit) for name in limit_names(unit, scale)]
        super().__init__(i, data.StructLayout({**i.members, **dict.fromkeys(fields, unit.source.bits)}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for scale in scale_names(self._unit):
            limits = block_limits(m, self._unit, self.i[scale], self.i.tensor)
            names = limit_names(self._unit, scale)
            m.d.comb += [self.o[name].eq(limit) for name, limit in zip(names, limits, strict=True)]
        forward(m, self.i, self.o, *self.i.shape().members)
        return m


class Counted(Step):
    """Compare each number of a block with the rounding limits between neighbouring element magnitudes.

    The element's magnitude code is the number of limits that the number's magnitude exceeds. Ties are rounded to the
    even element.
    """

    name = "counted"

    def __init__(self, unit: Quantiser, i: data.StructLayout) -> None:
        self._unit = unit
        every = [name for scale in scale_names(unit) for name in limit_names(unit, scale)]
        self._passed = {name: shape for name, shape in i.members.items() if name not in every}
        codes = [name for scale in scale_names(unit) for name in code_names(unit, scale)]
        super().__init__(i, data.StructLayout({**self._passed, **dict.fromkeys(codes, unit.block.element.bits - 1)}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unit = self._unit
        for scale in scale_names(unit):
            limits = [self.i[name] for name in limit_names(unit, scale)]
            for x, name in zip(unit.lane_names("x"), code_names(unit, scale), strict=True):
                m.d.comb += self.o[name].eq(magnitude(m, self.i[x][:-1], limits))
        forward(m, self.i, self.o, *self._passed)
        return m


class Named(Step):
    """Output the block's scale and the elements. Each element gets the sign of the number from which it was quantised.

    If the scale is NaN, all elements are 0.
    """

    name = "named"

    def __init__(self, unit: Quantiser, i: data.StructLayout) -> None:
        self._unit = unit
        super().__init__(i, ports_layout(unit.outputs))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, result in zip(self.o.shape().members, results(self._unit, self.i, "scale"), strict=True):
            m.d.comb += self.o[name].eq(result)
        return m


def results(unit: Quantiser, i: data.View[Any], scale: str) -> list[Value]:
    special = i[scale] == unit.block.scale.nan_code(False)
    names = zip(unit.lane_names("x"), code_names(unit, scale), strict=True)
    return [i[scale], *(Mux(special, 0, Cat(i[code], i[x][-1])) for x, code in names)]


def magnitude(m: Module, x: Value, limits: Sequence[Value]) -> Value:
    """Quantise the magnitude `x` to an element code without sign: the number of rounding limits that `x` exceeds."""
    # `x` is a code of the source format without its sign bit. Ties are rounded to the even element. A binary search
    # gives one bit of the code per comparison. In every comparison except the last, a tie rounds up, because the code
    # below the limit is odd.
    bits: list[Value] = []
    while limits:
        middle = len(limits) // 2
        reached = Signal(name="reached")
        m.d.comb += reached.eq(Cat(Const(middle % 2, 1), x) > limits[middle])
        bits.insert(0, reached)
        limits = [Mux(reached, *pair) for pair in zip(limits[middle + 1 :], limits[:middle], strict=True)]
    return Cat(bits)


def block_limits(m: Module, unit: Quantiser, scale: Value, tensor: Value) -> list[Value]:
    fraction_bits = unit.block.scale.precision - 1
    field, fraction = scale[fraction_bits:], scale[:fraction_bits]
    normal = Signal()
    m.d.comb += normal.eq(field.any())
    own, _, zeros = shift_left_narrow(m, Cat(fraction, normal), fraction_bits + 1, fraction_bits)
    whole = tensor_fields(tensor)
    product = Signal(fraction_bits + 1 + TENSOR_SCALE.precision)
    exponent = Signal(signed(unit.source.exponent_bits + 2))
    m.d.comb += [
        product.eq(own * Cat(whole.fraction, Const(1, 1))),
        exponent.eq(whole.exponent + field + ~normal - zeros),
    ]
    ulp = unit.block.scale.min_normal_exponent - 1 - fraction_bits - TENSOR_SCALE.fraction_bits
    powers = {middle: _odd_and_power(middle) for middle in middles(unit.block)}
    multiples = {odd: _Multiple(m, product, odd, unit.source) for odd in sorted({odd for odd, _ in powers.values()})}
    return [multiples[odd].limit(m, exponent, ulp + power, scale.any()) for odd, power in powers.values()]


def _odd_and_power(number: Fraction) -> tuple[int, int]:
    twos = (number.numerator & -number.numerator).bit_length() - 1
    return number.numerator >> twos, twos + 1 - number.denominator.bit_length()


class _Multiple:
    """The product of three factors: a block's scale, the tensor scale, and a constant odd integer."""

    # The product is stored with a leading 1 and the precision of the source format. All lower bits are combined by
    # OR.

    def __init__(self, m: Module, product: Value, odd: int, source: FixedFormat) -> None:
        self._source = source
        length = (odd * ((1 << len(product)) - 1)).bit_length()
        least = (odd << len(product) - 2).bit_length()  # both factors begin with a leading 1
        multiple = Signal(length, name=f"times_{odd}")
        m.d.comb += multiple.eq(product * odd)
        self._significand, self._below, self._zeros = shift_left_narrow(m, multiple, source.precision, length - least)
        self._top = length - 1

    def limit(self, m: Module, exponent: Value, ulp: int, some: Value) -> Value:
        source = self._source
        field = Signal(signed(len(exponent) + 1), name="field")
        m.d.comb += field.eq(exponent - self._zeros + (self._top + ulp))
        low = field < 1
        distance = Signal(len(field), name="distance")
        m.d.comb += distance.eq(Mux(low, 1 - field, 0))
        shifted, lost = shift_right_sticky(m, self._significand, distance)
        code = Cat(lost | self._below, shifted[:-1], Mux(low, 0, field[: source.exponent_bits]))
        beyond = (field > source.max_code >> source.fraction_bits) | ~some
        limit = Signal(source.bits, name="limit")
        m.d.comb += limit.eq(Mux(beyond, (source.max_code + 1) << 1, code))
        return limit
