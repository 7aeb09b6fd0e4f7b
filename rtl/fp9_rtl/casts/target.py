"""Properties of a cast's target format: number of kept fraction bits, and encoding."""

from __future__ import annotations

import abc

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from fp9.formats import FixedFormat, Format, HiFloat8
from fp9.formats.rounding import Overflow, Rounding
from fp9.units import Cast
from fp9_rtl.operands import hif8
from fp9_rtl.parts.condition import Circuits, Condition


class CastTarget(abc.ABC):
    """A target format of a cast."""

    # Exponents in the circuit have the bias of the source format: they equal the true exponent plus `bias`. The
    # rounding depends on the first `depth` dropped bits.

    fraction_bits: int

    lowest: int

    lowest_fraction_bits: int

    highest: int

    floor: int
    """Exponent limit below which all numbers round in the same way."""

    def __init__(self, fmt: Format, bias: int, depth: int) -> None:
        self.format = fmt
        self.bias = bias
        self.depth = depth

    @property
    def has_subnormals(self) -> bool:
        return True

    def is_normal(self, exponent: Value) -> Value:
        return exponent >= self.lowest + self.bias

    @abc.abstractmethod
    def places(self, m: Module, exponent: Value, window: int, places: Signal) -> None:
        """Drive `places` with the number of fraction bits that rounding drops."""

    def clamped(self, exponent: Value) -> Value:
        return exponent

    def last_place(self, exponent: Value, kept: Value, normal: Value) -> Value:
        """Return the last bit of the unrounded code, which decides ties to even."""
        return kept[0]

    @abc.abstractmethod
    def encode(self, m: Module, exponent: Value, kept: Value, normal: Value) -> tuple[Value, Value]:
        """Return the code of a rounded number, without the sign bit, and a flag for overflow."""


class FixedTarget(CastTarget):
    """Target format whose exponent and fraction fields have fixed widths."""

    def __init__(self, fmt: FixedFormat, bias: int, depth: int) -> None:
        super().__init__(fmt, bias, depth)
        self._fmt = fmt
        self.fraction_bits = self.lowest_fraction_bits = fmt.fraction_bits
        self.lowest = fmt.lowest_exponent
        self.highest = fmt.highest_exponent
        self.floor = self.lowest - fmt.fraction_bits - depth if fmt.subnormals else self.lowest

    @property
    def has_subnormals(self) -> bool:
        return self._fmt.subnormals

    def places(self, m: Module, exponent: Value, window: int, places: Signal) -> None:
        unused = window - self.fraction_bits
        m.d.comb += places.eq(unused)
        if not self._fmt.subnormals:
            return
        with m.If(exponent < self.floor + self.bias):
            m.d.comb += places.eq(window + 1 + self.depth)
        with m.Elif(exponent < self.lowest + self.bias):
            m.d.comb += places.eq(self.lowest + self.bias + unused - exponent)

    def last_place(self, exponent: Value, kept: Value, normal: Value) -> Value:
        if self.fraction_bits:
            return super().last_place(exponent, kept, normal)
        return normal & (exponent + (self._fmt.bias - self.bias))[0]

    def encode(self, m: Module, exponent: Value, kept: Value, normal: Value) -> tuple[Value, Value]:
        fmt = self._fmt
        fraction = kept[: fmt.fraction_bits]
        field = (exponent + (fmt.bias - self.bias))[: fmt.exponent_bits]
        below_normal = kept[: fmt.bits - 1] if fmt.subnormals else Const(0)
        highest = self.highest + self.bias
        too_large = exponent > highest
        all_ones = (1 << fmt.fraction_bits) - 1
        if (largest_fraction := fmt.max_code & all_ones) != all_ones:
            too_large |= (exponent == highest) & (fraction > largest_fraction)
        return Mux(normal, Cat(fraction, field), below_normal), too_large & normal


class HiFloat8Target(CastTarget):
    """Target format HiFloat8, whose precision is highest for numbers near 1."""

    fraction_bits = hif8.DOT_FIELDS[-1].fraction_bits
    lowest = HiFloat8.LOWEST_NORMAL
    lowest_fraction_bits = HiFloat8.fraction_bits_at(HiFloat8.LOWEST_NORMAL)
    highest = (1 << hif8.EXPONENT_SIZE_BITS) - 1
    # A denormal code whose lowest three bits hold the integer M represents the number 2^(M - 23).
    zero = -HiFloat8.DENORMAL_OFFSET
    """Exponent whose code is zero. Smaller numbers round to zero or to the smallest number."""

    def __init__(self, fmt: HiFloat8, bias: int, depth: int) -> None:
        super().__init__(fmt, bias, depth)
        self.floor = self.zero + 1 - depth

    def places(self, m: Module, exponent: Value, window: int, places: Signal) -> None:
        m.d.comb += places.eq(window + 1 + self.depth)
        if self.floor < self.zero:
            with m.If(exponent >= self.floor + self.bias):
                m.d.comb += places.eq(window + 1 + self.zero + self.bias - exponent)
        for dropped, least in ((window + 1, self.zero), (window, self.zero + 1)):
            with m.If(exponent >= least + self.bias):
                m.d.comb += places.eq(dropped)
        for row in hif8.DOT_FIELDS:
            largest = (1 << row.exponent_bits) - 1
            reached = exponent >= self.bias - largest
            widest = row is hif8.DOT_FIELDS[0]  # larger numbers overflow, whichever bits they keep
            with m.If(reached if widest else reached & (exponent <= self.bias + largest)):
                m.d.comb += places.eq(window - row.fraction_bits)

    def clamped(self, exponent: Value) -> Value:
        return Mux(exponent < self.zero + self.bias, self.zero + self.bias, exponent)

    def last_place(self, exponent: Value, kept: Value, normal: Value) -> Value:
        return Mux(normal, kept[0], (exponent - (self.zero + self.bias))[0])

    def encode(self, m: Module, exponent: Value, kept: Value, normal: Value) -> tuple[Value, Value]:
        true_exponent = Signal.like(exponent - self.bias)
        m.d.comb += true_exponent.eq(exponent - self.bias)
        at_infinity = (true_exponent == self.highest) & kept[: hif8.DOT_FIELDS[0].fraction_bits].any()
        return hif8.encode(m, true_exponent, kept), (true_exponent > self.highest) | at_infinity


def _has_rounding(_: Cast, mode: Rounding) -> bool:
    return mode.is_carry or not mode.needs_bits


_OVERFLOWS = (Overflow.SATURATE, Overflow.INF, Overflow.DIRECTED)

CIRCUITS = Circuits(
    "a cast",
    Cast,
    (
        Condition(
            "targets",
            lambda _, fmt: isinstance(fmt, HiFloat8 | FixedFormat),
            "hif8 or signed formats of fixed fields, such as e4m3",
            "the encoder writes a sign and fields of constant width, or the fields of hif8",
        ),
        Condition(
            "roundings",
            _has_rounding,
            f"some of {', '.join(mode.value for mode in Rounding if mode.is_carry or not mode.needs_bits)}",
            "the circuit adds random bits as a carry into the last place, as sr needs",
        ),
        Condition(
            "overflow",
            lambda _, policy: policy in _OVERFLOWS,
            f"some of {', '.join(policy.value for policy in _OVERFLOWS)}",
            "the policies of P3109 treat infinite operands differently from large numbers",
        ),
    ),
)


def cast_target(fmt: Format, bias: int, depth: int) -> CastTarget:
    if isinstance(fmt, HiFloat8):
        return HiFloat8Target(fmt, bias, depth)
    assert isinstance(fmt, FixedFormat)
    return FixedTarget(fmt, bias, depth)
