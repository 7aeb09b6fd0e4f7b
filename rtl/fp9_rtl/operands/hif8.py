"""Decode and encode HiFloat8's prefix code in hardware (HiF8 sections 2.1 and 2.2)."""

# dot 11    s eee f    |E| = 8..15   E's magnitude with its leading 1 hidden, s its sign
# dot 10    s ee  ff   |E| = 4..7
# dot 01    s e   fff  |E| = 2, 3
# dot 001   s     fff  |E| = 1
# dot 0001        fff   E  = 0
# 0000            MMM  denormal: 2^(M-23), zero for M = 0

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import HiFloat8
from fp9_rtl.parts.select import any_of

MAGNITUDE_BITS = 7

DENORMAL_BITS = 3

EXPONENT_SIZE_BITS = 4


@dataclass(frozen=True)
class DotField:
    """All HiFloat8 codes with the same dot field."""

    prefix: str
    exponent_bits: int

    @property
    def fraction_bits(self) -> int:
        return MAGNITUDE_BITS - len(self.prefix) - self.exponent_bits

    @property
    def pattern(self) -> str:
        return self.prefix.ljust(MAGNITUDE_BITS, "-")

    @property
    def size_pattern(self) -> str:
        leading = "1".ljust(self.exponent_bits, "-") if self.exponent_bits else ""
        return leading.rjust(EXPONENT_SIZE_BITS, "0")

    @property
    def layout(self) -> data.StructLayout:
        """Return the layout of a code without its sign bit."""
        exponent = {"size": self.exponent_bits - 1, "negative": 1} if self.exponent_bits else {}
        return data.StructLayout({"fraction": self.fraction_bits, **exponent, "dot": len(self.prefix)})


DOT_FIELDS = (DotField("11", 4), DotField("10", 3), DotField("01", 2), DotField("001", 1), DotField("0001", 0))


def decode(m: Module, magnitude: Value, offset: int, exponent: Value, fraction: Value) -> None:
    """Decode a finite, non-zero HiFloat8 magnitude to a left-aligned fraction and an exponent with bias `offset`."""
    size = Signal(range(HiFloat8.DENORMAL_OFFSET + 1))
    negative = Signal()
    denormal = Signal()
    # M - 23 = -(16 + ~M)
    lowest_size = HiFloat8.DENORMAL_OFFSET - (1 << DENORMAL_BITS) + 1
    sizes: list[Value] = [(lowest_size | ~magnitude[:DENORMAL_BITS]) & denormal.replicate(len(size))]
    fractions: list[Value] = []
    for row in DOT_FIELDS:
        fields = data.View(row.layout, magnitude)
        here = Signal(name=f"dot_{row.prefix}")
        m.d.comb += here.eq(magnitude.matches(row.pattern))
        padded = Cat(Const(0, len(fraction) - row.fraction_bits), fields.fraction)
        fractions.append(padded & here.replicate(len(fraction)))
        if row.exponent_bits:
            sizes.append(Cat(fields.size, Const(1, 1)) & here.replicate(row.exponent_bits))
    # Bit 4 is the exponent's sign in rows 11, 10 and 01. In the codes 001s, 0001 and 0000 the exponent is negative
    # exactly if bits 4 and 3 are equal.
    m.d.comb += [
        denormal.eq(magnitude[DENORMAL_BITS:] == 0),
        size.eq(any_of(sizes)),
        fraction.eq(any_of(fractions)),
        negative.eq(Mux(magnitude[5:].any(), magnitude[4], magnitude[4] == magnitude[3])),
        exponent.eq(_signed(size, negative) + offset),
    ]


def _signed(size: Signal, negative: Value) -> Value:
    # Only the bits above the lowest 1 must be inverted, so XOR gates suffice and no adder is needed.
    inverted = [negative & (size[:place].any() if place else 0) for place in range(len(size) + 1)]
    return (Cat(size, Const(0, 1)) ^ Cat(inverted)).as_signed()


def encode(m: Module, exponent: Value, kept: Value) -> Signal:
    """Return the HiFloat8 code of a magnitude from its exponent and its right-aligned fraction bits.

    The exponent must be in the range from -23 to 15, and an exponent of -23 stands for zero.
    """
    code = Signal(MAGNITUDE_BITS)
    size = Signal(EXPONENT_SIZE_BITS)
    negative = exponent < 0
    m.d.comb += [
        size.eq(Mux(negative, -exponent, exponent)),
        code.eq((exponent + HiFloat8.DENORMAL_OFFSET)[:DENORMAL_BITS]),
    ]
    with m.If(exponent >= HiFloat8.LOWEST_NORMAL), m.Switch(size):
        for row in DOT_FIELDS:
            with m.Case(row.size_pattern):
                sign_and_size = Cat(size[: row.exponent_bits - 1], negative) if row.exponent_bits else Const(0, 0)
                prefix = Const(int(row.prefix, 2), len(row.prefix))
                m.d.comb += code.eq(Cat(kept[: row.fraction_bits], sign_and_size, prefix))
    return code
