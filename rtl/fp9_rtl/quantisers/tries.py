"""Two tries of a block's scale: the one with the smaller sum of squared errors stands, the first where they are equal.

Of tries with elements e, scales s and the array's t, sum (x - e s t)^2 is smaller where t s^2 sum e^2 - 2 s sum x e is.
All of it is exact, in integers:

* e counts smallest elements, s places of the first scale (the second's are the same or twice those), t its places;
* a number with an element that is not zero lies few binades below amax, so x counts places that many below amax's;
* then the two sides of t (S2^2 sum e2^2 - S1^2 sum e1^2) < 2 (S2 sum x e2 - S1 sum x e1) differ by a power of two,
  which is known but for few places, as amax is some 2 to 9 times s t.

Where both scales are the same code the first stands. So it does where both are too large, where nothing bounds amax.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from fp9.formats import Format, floor_log2, pow2
from fp9.units import TENSOR_SCALE, Quantiser
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step
from fp9_rtl.quantisers.limits import code_names, middles, results
from fp9_rtl.quantisers.quotient import tensor_fields
from fp9_rtl.quantisers.rules import scale_names, tries

_FARTHEST = Fraction(3, 2)
"""What a quotient is at most over the scale that it is rounded to, which is neither zero nor the largest."""

_NEAREST = Fraction(1, 2)
"""What it is at least."""


class Better(Step):
    """The results of the try that stands."""

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
    """Of a try the sums of squared elements and of numbers times elements."""

    squares: Value
    products: Value


def second_is_closer(m: Module, unit: Quantiser, i: data.View[data.StructLayout]) -> Value:
    """Whether the second try has the smaller error; the scales are not the same."""
    (first, _), (second, _) = fields = [_significand(unit.block.scale, i[name]) for name in scale_names(unit)]
    exponent, other = (field for _, field in fields)
    aligned = _aligned(m, unit, i)
    sums = [_sums(m, unit, aligned, [i[name] for name in code_names(unit, scale)]) for scale in scale_names(unit)]
    tensor = tensor_fields(i.tensor)
    doubled = Signal(len(second) + 1)
    m.d.comb += doubled.eq(Mux(other != exponent, second << 1, second))
    squares = Signal(signed(len(sums[1].squares) + 2 * len(doubled) + 1))
    products = Signal(signed(len(sums[1].products) + len(doubled) + 1))
    m.d.comb += [
        squares.eq(doubled * doubled * sums[1].squares - first * first * sums[0].squares),
        products.eq(doubled * sums[1].products - first * sums[0].products),
    ]
    left = Signal(signed(len(squares) + TENSOR_SCALE.precision + 1))
    m.d.comb += left.eq(squares * Cat(tensor.fraction, Const(1, 1), Const(0, 1)).as_signed())
    places, least, most = _places(unit)
    distance = Signal((most - least).bit_length())
    m.d.comb += distance.eq(_field(unit, i.amax) - tensor.exponent - exponent + (places - least))
    right = products << distance
    return left << max(0, -least) < right << max(0, least)


def _significand(fmt: Format, code: Value) -> tuple[Value, Value]:
    """A magnitude's significand, and the exponent of its last place beside that of the smallest number."""
    bits = fmt.precision - 1
    field, normal = code[bits:], code[bits:].any()
    return Cat(code[:bits], normal), (field - normal)[: len(field)]


def _field(unit: Quantiser, x: Value) -> Value:
    """The biased exponent of a magnitude, that of the smallest normal number for subnormal ones."""
    field = x[unit.source.fraction_bits :]
    return field + ~field.any()


def _window(unit: Quantiser) -> int:
    """How many binades a number with an element that is not zero lies below amax at most."""
    return floor_log2(_FARTHEST * max(tries(unit)) / middles(unit.block)[0]) + 1


def _aligned(m: Module, unit: Quantiser, i: data.View[data.StructLayout]) -> list[Value]:
    """Numbers without their signs in places of one size; anything for those whose elements are zero."""
    window, fraction_bits = _window(unit), unit.source.fraction_bits
    top = Signal(unit.source.exponent_bits)
    m.d.comb += top.eq(_field(unit, i.amax))
    numbers = []
    for x in unit.lane_names("x"):
        magnitude = i[x][:-1]
        below = Signal(window.bit_length(), name="below")
        aligned = Signal(window + unit.source.precision, name="aligned")
        significand = Cat(Const(0, window), magnitude[:fraction_bits], magnitude[fraction_bits:].any())
        m.d.comb += [below.eq(top - _field(unit, magnitude)), aligned.eq(significand >> below)]
        numbers.append(aligned)
    return numbers


def _sums(m: Module, unit: Quantiser, numbers: Sequence[Value], codes: Sequence[Value]) -> _Sums:
    element = unit.block.element
    counts = [int(element.value_of(code) / element.value_of(1)) for code in range(element.max_code + 1)]
    squares, products = [], []
    for number, code in zip(numbers, codes, strict=True):
        square, product = Signal(range(counts[-1] ** 2 + 1)), Signal(range(counts[-1] * ((1 << len(number)) - 1) + 1))
        significand, exponent = _significand(element, code)
        m.d.comb += product.eq((number * significand) << exponent)
        for count in switch(m, code, counts):
            m.d.comb += square.eq(count**2)
        squares.append(square)
        products.append(product)
    return _Sums(_total(m, squares), _total(m, products))


def _total(m: Module, values: Sequence[Value]) -> Value:
    """The sum of several, by a tree."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    low, high = _total(m, values[:half]), _total(m, values[half:])
    total = Signal(max(len(low), len(high)) + 1, name="total")
    m.d.comb += total.eq(low + high)
    return total


def _places(unit: Quantiser) -> tuple[int, int, int]:
    """How far apart the places of both sides are: beside the biased exponents of amax, less those of both scales; in
    all at least, and at most.

    With amax = A 2^a, s t = S T 2^b in integers and r = amax / (s t), 2^(a - b) is r S T / A.
    """
    source, scale, element = unit.source, unit.block.scale, unit.block.element
    finer = 1 - _window(unit) - floor_log2(element.value_of(1))  # places of the products' sides
    last = scale.min_normal_exponent - scale.precision + 1  # of the smallest scale
    apart = TENSOR_SCALE.fraction_bits - source.fraction_bits - last + finer
    least = _NEAREST * min(tries(unit)) * pow2(TENSOR_SCALE.fraction_bits) / ((1 << source.precision) - 1)
    most = _FARTHEST * max(tries(unit)) * ((1 << scale.precision) - 1) * pow2(TENSOR_SCALE.precision)
    return apart, floor_log2(least) + finer, floor_log2(most) + finer
