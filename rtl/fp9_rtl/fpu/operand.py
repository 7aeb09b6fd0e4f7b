"""Operand decoders of a multi-format FPU, which convert a code to sign, biased exponent and significand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
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
from fp9_rtl.sums.adder import EXTRA_BITS


class Scale:
    """Exponent range and precision that suffice for every operand of the given formats."""

    # Subnormal operands keep the leading zeros of their significands if the adder is wide enough. Division needs
    # normalised factors.

    def __init__(
        self,
        formats: Sequence[Format],
        integers: Sequence[Integer] = (),
        divides: bool = False,
        rounding_bits: int = 1,
        mixed: bool = True,
    ) -> None:
        self._formats, self._divides, self._rounding_bits, self._mixed = formats, divides, rounding_bits, mixed
        widths = [integer.bits for integer in integers]
        bits, self._least_integer_bits = max(widths, default=0), min(widths, default=0)
        self.precision = max((bits + 1) // 2, *(fmt.precision for fmt in formats))
        # The lower part of an integer has no sign, so the upper part has at least one bit.
        self.integer_bits = max(bits, self.precision + 1) if integers else 0

    @classmethod
    def of(cls, unit: MultiFpu) -> Scale:
        divides = FpuGroup.DIVSQRT in unit.groups
        return cls(unit.formats, unit.integers, divides, unit.random_width or 1, unit.mixed)

    @cached_property
    def normalised_factors(self) -> frozenset[Format]:
        """Return the formats whose subnormal operands a and b must be normalised."""
        return self._subnormal - frozenset(self._kept_factors)

    @cached_property
    def normalised_addends(self) -> frozenset[Format]:
        """Return the formats whose subnormal operands c must be normalised."""
        return self._subnormal - frozenset(self._kept_addends)

    @cached_property
    def extra_bits(self) -> int:
        """Return how many bits the adder has below the last bit of an unshifted product, including the sticky bit."""
        return next(
            bits
            for bits in range(1, self._most_extra_bits + 1)
            if self._keeps_factors(self._kept_factors, bits) and self._keeps_addends(self._kept_addends, bits)
        )

    def sum_bits(self, formats: Sequence[Format], integers: Sequence[Integer]) -> int:
        """Return the bits of the adder below its carry, if all operands and results have one of the given formats.

        The unnormalised subnormal operands are those of this scale.
        """
        scale = Scale(formats, integers, rounding_bits=self._rounding_bits, mixed=self._mixed)
        factors, addends = (
            [fmt for fmt in formats if fmt in unnormalised] for unnormalised in (self._kept_factors, self._kept_addends)
        )
        extra_bits = next(
            bits
            for bits in itertools.count(1)
            if scale._keeps_factors(factors, bits) and scale._keeps_addends(addends, bits)
        )
        return 2 * scale.precision + extra_bits

    @property
    def _most_extra_bits(self) -> int:
        return EXTRA_BITS + self._rounding_bits - 1

    @cached_property
    def _subnormal(self) -> frozenset[Format]:
        return frozenset(fmt for fmt in self._formats if isinstance(fmt, FixedFormat) and fmt.subnormals)

    @cached_property
    def _kept_factors(self) -> list[FixedFormat]:
        return [] if self._divides else self._most(self._keeps_factors)

    @cached_property
    def _kept_addends(self) -> list[FixedFormat]:
        return self._most(self._keeps_addends)

    def _most(self, keeps: Callable[[Sequence[FixedFormat], int], bool]) -> list[FixedFormat]:
        # The decoder of the narrow formats normalises all of them or none.
        kept = [fmt for fmt in self._formats if isinstance(fmt, FixedFormat) and fmt.subnormals]
        while not keeps(kept, self._most_extra_bits):
            kept = [fmt for fmt in kept if fmt.bits > NARROW_BITS] if kept[0].bits <= NARROW_BITS else kept[1:]
        return kept

    # The adder has 2 * precision + extra_bits - 2 exact bits below the larger exponent. Rounding reads `rounding_bits`
    # bits below the last bit of the result, and detecting tininess reads one more. The two methods below return whether
    # the adder is wide enough for unnormalised subnormal operands of the formats in `kept`.

    def _keeps_factors(self, kept: Sequence[FixedFormat], extra_bits: int) -> bool:
        # The result's leading 1 is at most z + 2 bit positions below the larger exponent, for factors with z leading
        # zeros. The adder must be exact for the result's precision and the rounding bits below its leading 1, or down
        # to the last bit of the smallest possible result.
        exact, lows = self._exact_bits(extra_bits), [(fmt.lowest_exponent, fmt.fraction_bits) for fmt in kept]
        enough, highest = exact - self._below - self.precision, self._lowest_quantum - self._below + exact
        pairs = itertools.combinations_with_replacement(lows, 2)
        return max((zeros for _, zeros in lows), default=0) <= enough and all(
            z + zz <= enough or low + ll + 1 <= highest for (low, z), (ll, zz) in pairs
        )

    def _keeps_addends(self, kept: Sequence[FixedFormat], extra_bits: int) -> bool:
        # If the larger exponent belongs to a subnormal addend, a difference can lose any number of leading bits. The
        # adder must then be exact down to the last bit of the smallest possible result. Without mixed formats, the
        # result has the addend's format, so the last bit of its smallest number is that of the addend.
        exact = self._exact_bits(extra_bits)
        highest = self._lowest_quantum - self._below + exact
        return max((fmt.fraction_bits for fmt in kept), default=0) <= exact - self._below - self.precision and (
            not self._mixed or all(fmt.lowest_exponent <= highest for fmt in kept)
        )

    def _exact_bits(self, extra_bits: int) -> int:
        return 2 * self.precision + extra_bits - 2

    @property
    def _below(self) -> int:
        return 1 + self._rounding_bits

    @cached_property
    def _lowest_quantum(self) -> int:
        return min(fmt.quantum(floor_log2(fmt.value_of(fmt.smallest_code))) for fmt in self._formats)

    @cached_property
    def exponents(self) -> range:
        # The range includes exponent 0, because a sum or a conversion multiplies its operand by 1.
        lower_part = self.precision - self.integer_bits + self._least_integer_bits - 1
        integers = (min(0, lower_part), max(0, self.integer_bits - 1))
        lowest, highest = zip(integers, *(self._range(fmt) for fmt in self._formats), strict=True)
        return range(min(lowest), max(highest) + 1)

    def _range(self, fmt: Format) -> tuple[int, int]:
        low, high = (floor_log2(fmt.value_of(code)) for code in (fmt.smallest_code, fmt.max_code))
        if isinstance(fmt, FixedFormat) and fmt not in self.normalised_factors | self.normalised_addends:
            return fmt.lowest_exponent, high
        return low, high

    @property
    def bias(self) -> int:
        return 1 - self.exponents.start

    @property
    def sum_bias(self) -> int:
        return 2 * self.bias - 1

    @property
    def field(self) -> range:
        return range(self.exponents.stop + self.bias)

    @property
    def layout(self) -> data.StructLayout:
        flags = dict.fromkeys(("sign", "zero", "inf", "nan", "signaling"), 1)
        return data.StructLayout({"significand": self.precision, "exponent": self.field, **flags})


def unpack(m: Module, unit: MultiFpu, name: str, code: Value, select: Value) -> data.View[data.StructLayout]:
    scale = Scale.of(unit)
    normalised = scale.normalised_addends if name == "c" else scale.normalised_factors
    operand = Signal(scale.layout, name=f"operand_{name}")
    narrow = _narrow(m, unit.narrow, scale, normalised, name, code, select) if unit.narrow else None
    for fmt in switch(m, select, unit.formats):
        if fmt.bits <= NARROW_BITS:
            assert narrow is not None
            m.d.comb += operand.eq(narrow)
        else:
            assert isinstance(fmt, FixedFormat)
            _wide(m, scale, fmt, fmt in normalised, name, code, operand)
        m.d.comb += operand.signaling.eq(_signals(fmt, code))
        if unit.nan_boxing and fmt.bits < unit.word:
            with m.If(~code[fmt.bits :].all()):
                m.d.comb += [operand.nan.eq(1), *(operand[flag].eq(0) for flag in ("signaling", "zero", "inf"))]
    return operand


def unpack_narrow(
    m: Module, formats: Sequence[Format], name: str, code: Value, select: Value
) -> data.View[data.StructLayout]:
    """Decode an 8-bit code to fields that are wide enough for all given formats."""
    scale = Scale(formats)
    operand = _narrow(m, formats, scale, scale.normalised_factors, name, code, select)
    for fmt in switch(m, select, formats):
        m.d.comb += operand.signaling.eq(_signals(fmt, code))
    return operand


def _narrow(
    m: Module,
    formats: Sequence[Format],
    scale: Scale,
    normalised: Collection[Format],
    name: str,
    code: Value,
    select: Value,
) -> data.View[data.StructLayout]:
    normalises = any(fmt in normalised for fmt in formats)
    decoder = OperandDecoder(formats, False, scale.bias, normalises)
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
    m: Module,
    scale: Scale,
    fmt: FixedFormat,
    normalises: bool,
    name: str,
    code: Value,
    operand: data.View[data.StructLayout],
) -> None:
    found = unpack_addend(m, fmt, code[: fmt.bits], f"{fmt.name}_{name}")
    significand, exponent = found.significand, found.exponent + (scale.bias - fmt.bias)
    if normalises:
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
