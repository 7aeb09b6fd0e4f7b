"""Operands of a multi-format FPU. A code of any supported format becomes sign, biased exponent and significand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat, Format, Specials, floor_log2
from fp9.units import FpuGroup, MultiFpu
from fp9.units.multi_fpu import NARROW_BITS, Integer
from fp9_rtl.operands.addend import unpack_addend
from fp9_rtl.operands.decode import OperandDecoder
from fp9_rtl.parts.select import at_most, switch
from fp9_rtl.parts.shifters import shift_left_normalising


class Scale:
    """Exponent range and precision that can represent every operand of several formats.

    An integer operand becomes two terms, its upper and its lower half. Each half has the precision of an operand.

    Subnormal numbers of 8-bit formats are normalised. Subnormal numbers of a wide format stay unnormalised if leading
    zeros cost no precision. This is the case if two conditions hold. The format's last place is below the last place
    of every result. The product of two of its subnormal numbers is below every operand. Division needs normalised
    operands.
    """

    def __init__(self, formats: Sequence[Format], integers: Sequence[Integer] = (), divides: bool = False) -> None:
        self._formats, self._divides = formats, divides
        self._integer_bits = max((integer.bits for integer in integers), default=0)
        self.precision = max((self._integer_bits + 1) // 2, *(fmt.precision for fmt in formats))

    @classmethod
    def of(cls, unit: MultiFpu) -> Scale:
        """Return the scale of a unit's operands."""
        return cls(unit.formats, unit.integers, FpuGroup.DIVSQRT in unit.groups)

    def normalises(self, fmt: FixedFormat) -> bool:
        """Return whether the decoder normalises the subnormal numbers of a wide format."""
        last_place = fmt.lowest_exponent - fmt.fraction_bits
        places = [each.quantum(floor_log2(each.value_of(each.smallest_code))) for each in self._formats]
        smallest = [floor_log2(each.value_of(each.smallest_code)) for each in self._formats]
        return fmt.subnormals and (self._divides or min(places) < last_place or min(smallest) < 2 * fmt.lowest_exponent)

    @cached_property
    def exponents(self) -> range:
        """Return the exponent range of all non-zero operands.

        The range includes 1, the second factor of sums and conversions.
        """
        integers = 2 * self.precision - 1 if self._integer_bits else 0
        lowest, highest = zip((0, integers), *(self._range(fmt) for fmt in self._formats), strict=True)
        return range(min(lowest), max(highest) + 1)

    def _range(self, fmt: Format) -> tuple[int, int]:
        low, high = (floor_log2(fmt.value_of(code)) for code in (fmt.smallest_code, fmt.max_code))
        if isinstance(fmt, FixedFormat) and fmt.bits > NARROW_BITS and not self.normalises(fmt):
            return fmt.lowest_exponent, high
        return low, high

    @property
    def bias(self) -> int:
        """Return the bias with which the lowest exponent becomes 1."""
        return 1 - self.exponents.start

    @property
    def field(self) -> range:
        """Return the range of biased exponents, extended down to 0."""
        return range(self.exponents.stop + self.bias)

    @property
    def layout(self) -> data.StructLayout:
        """Return the layout of a decoded operand. `signaling` marks a signalling NaN."""
        flags = dict.fromkeys(("sign", "zero", "inf", "nan", "signaling"), 1)
        return data.StructLayout({"significand": self.precision, "exponent": self.field, **flags})


def unpack(m: Module, unit: MultiFpu, name: str, code: Value, select: Value) -> data.View[data.StructLayout]:
    """Decode an operand's code in the selected format, and return its fields."""
    scale = Scale.of(unit)
    operand = Signal(scale.layout, name=f"operand_{name}")
    narrow = _narrow(m, unit.narrow, scale, name, code, select) if unit.narrow else None
    for fmt in switch(m, select, unit.formats):
        if fmt.bits == NARROW_BITS:
            assert narrow is not None
            m.d.comb += operand.eq(narrow)
        else:
            assert isinstance(fmt, FixedFormat)
            _wide(m, scale, fmt, name, code, operand)
        m.d.comb += operand.signaling.eq(_signals(fmt, code))
        if unit.nan_boxing and fmt.bits < unit.word:
            with m.If(~code[fmt.bits :].all()):
                m.d.comb += [operand.nan.eq(1), *(operand[flag].eq(0) for flag in ("signaling", "zero", "inf"))]
    return operand


def unpack_narrow(
    m: Module, formats: Sequence[Format], name: str, code: Value, select: Value
) -> data.View[data.StructLayout]:
    """Decode an 8-bit code on the scale of the 8-bit formats. A select that is too large means the last format."""
    operand = _narrow(m, formats, Scale(formats), name, code, select)
    for fmt in switch(m, select, formats):
        m.d.comb += operand.signaling.eq(_signals(fmt, code))
    return operand


def _narrow(
    m: Module, formats: Sequence[Format], scale: Scale, name: str, code: Value, select: Value
) -> data.View[data.StructLayout]:
    decoder = OperandDecoder(formats, False, scale.bias)
    m.submodules[f"decode_{name}"] = decoder
    last = len(formats) - 1
    m.d.comb += [decoder.code.eq(code[:NARROW_BITS]), decoder.select.eq(at_most(select, last))]
    operand, found = Signal(scale.layout, name=f"narrow_{name}"), decoder.operand
    below = Const(0, max(0, scale.precision - len(found.significand)))
    m.d.comb += [
        operand.significand.eq(Cat(below, found.significand[-scale.precision :])),
        operand.exponent.eq(found.exponent),
        *(operand[flag].eq(found[flag]) for flag in ("sign", "zero", "inf", "nan")),
    ]
    return operand


def _wide(
    m: Module, scale: Scale, fmt: FixedFormat, name: str, code: Value, operand: data.View[data.StructLayout]
) -> None:
    found = unpack_addend(m, fmt, code[: fmt.bits], f"{fmt.name}_{name}")
    significand, exponent = found.significand, found.exponent + (scale.bias - fmt.bias)
    if scale.normalises(fmt):
        significand, zeros = shift_left_normalising(m, significand, None, only_last=Const(0))
        exponent = exponent - zeros
    m.d.comb += [
        operand.significand.eq(Cat(Const(0, scale.precision - fmt.precision), significand)),
        operand.exponent.eq(exponent),
        *(operand[flag].eq(found[flag]) for flag in ("sign", "zero", "inf", "nan")),
    ]


def _signals(fmt: Format, code: Value) -> Value:
    if not isinstance(fmt, FixedFormat) or fmt.specials is not Specials.IEEE:
        return Const(0)
    exponent = code[fmt.fraction_bits : fmt.bits - 1]
    first, others = code[fmt.fraction_bits - 1], code[: fmt.fraction_bits - 1]
    return exponent.all() & ~first & others.any()
