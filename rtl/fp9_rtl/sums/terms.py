"""Shared hardware for exact and truncated sums: special results, signed sum, normalisation."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat
from fp9_rtl.parts.end_around import end_around_sum
from fp9_rtl.parts.layouts import SPECIAL
from fp9_rtl.parts.select import any_of
from fp9_rtl.parts.shifters import shift_left_normalising
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.rounding.rounder import drive_significand, rounder_layout


def classify(
    m: Module,
    products: Sequence[data.View[data.StructLayout]],
    addend: data.View[data.StructLayout] | None,
    o: data.View[data.StructLayout],
    run: int | None = None,  # the engine's field `infinity_run`
) -> Value:
    """Set `inf`, `nan`, `invalid` and `subtract` in the outputs `o` of a sum. Return whether a term is -infinity.

    If all terms are zeros of the same sign, `subtract` is 0, and the zero sum keeps the sign.
    """
    terms = [*products, *([] if addend is None else [addend])]
    infinite = [(term.inf & ~term.sign, term.inf & term.sign) for term in terms]
    if run is not None:
        infinite = [_standing(m, infinite[: len(products)], run), *infinite[len(products) :]]
    positive, negative = (any_of(sign) for sign in zip(*infinite, strict=True))
    quiet = any_of(term.nan for term in terms)
    invalid = any_of(product.invalid for product in products) | (positive & negative)
    signs = Cat(term.sign for term in terms)
    m.d.comb += [
        o.inf.eq(positive | negative),
        o.nan.eq(quiet | invalid),
        o.invalid.eq(invalid & ~quiet),
        o.subtract.eq(signs.any() & ~signs.all()),
    ]
    return negative


def _standing(m: Module, infinite: Sequence[tuple[Value, Value]], run: int) -> tuple[Value, Value]:
    """Return two flags for a sum of infinite products: the sum contains +infinity, and the sum contains -infinity."""
    # The products are added in order. Two opposite infinities set both flags. If both flags are set, a later infinity
    # clears the flag of the opposite sign. If both flags are set at the end of a run of `run` products, they stay set.
    positive, negative, cancelled = Const(0, 1), Const(0, 1), Const(0, 1)
    for place, (plus, minus) in enumerate(infinite):
        if place % run == 0:
            cancelled = cancelled | (positive & negative)
        kept = cancelled | ~(plus | minus)
        # Signals keep the netlist small: nested expressions would double in size with every product.
        stands = Signal(name=f"positive{place}"), Signal(name=f"negative{place}")
        m.d.comb += [
            stands[0].eq(Mux(kept, positive, plus | (positive & ~negative))),
            stands[1].eq(Mux(kept, negative, minus | (negative & ~positive))),
        ]
        positive, negative = stands
    return positive, negative


def signed_sum(m: Module, terms: Sequence[tuple[Value, Value]], bits: int) -> tuple[Value, Value]:
    """Return the sum of the terms as a magnitude with `bits` bits and a sign."""
    # Each term is a pair of magnitude and sign. The adder works in one's complement, with the carry-out added at the
    # lowest bit. It inverts a number without adding 1, so a sticky bit at the lowest position is still correct after
    # inversion.
    if len(terms) == 1:
        return Cat(terms[0][0], Const(0, bits - len(terms[0][0]))), terms[0][1]
    width = bits + 1
    rows = [Cat(value, Const(0, width - len(value))) ^ negative.replicate(width) for value, negative in terms]
    while len(rows) > 2:
        rows = [row for i in range(0, len(rows), 3) for row in carry_save(m, rows[i : i + 3])]
    total = end_around_sum(m, *rows)
    negative, magnitude = total[-1], Signal(bits, name="magnitude")
    m.d.comb += magnitude.eq(total[:-1] ^ negative.replicate(bits))
    return magnitude, negative


def carry_save(m: Module, rows: Sequence[Value]) -> list[Value]:
    """Reduce three numbers to two numbers with the same sum, with end-around carry."""
    if len(rows) < 3:
        return list(rows)
    x, y, z = rows
    carries = Signal(len(x), name="carries")
    sums = Signal(len(x), name="sums")
    m.d.comb += [sums.eq(x ^ y ^ z), carries.eq((x & y) | (z & (x | y)))]
    return [sums, carries.rotate_left(1)]


class NormaliseSum(Step):
    """Shift the leading 1 of a sum to the top, and convert the bits below to guard, round and sticky bits.

    The input `exponent` belongs to the bit that lies `headroom` positions below the top bit of the input `sum`.
    """

    name = "normalise"

    def __init__(self, fmt: FixedFormat, headroom: int, i: data.StructLayout, *passed: str) -> None:
        self._stops = fmt.subnormals
        self._kept = fmt.precision
        self._headroom = headroom
        self._passed = ("subtract", "sign", *SPECIAL, *passed)
        exponents = i["exponent"].shape
        lowest = 0 if fmt.subnormals else exponents.start + headroom - i["sum"].width
        beside = {name: i[name].shape for name in self._passed}
        super().__init__(i, rounder_layout(fmt, range(lowest, exponents.stop + headroom), beside))

    def rounding_bits(self, m: Module, below: Value) -> Value:
        return below

    def kept_bits(self, normalised: Value, rounding_bits: Value) -> Value:
        # A sum without a 1 in these bits is zero.
        return normalised

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The shift stops at exponent 1, the exponent of subnormal numbers.
        limit = self.i.exponent + (self._headroom - 1) if self._stops else None
        normalised, shift = shift_left_normalising(m, self.i.sum, limit, only_last=Const(0))
        o, below = self.o, self.rounding_bits(m, normalised[: -self._kept])
        drive_significand(m, o, normalised[-self._kept :], below)
        m.d.comb += [
            o.exponent.eq(self.i.exponent + self._headroom - shift),
            o.zero.eq(~self.kept_bits(normalised, below).any() if self._stops else ~normalised[-1]),
        ]
        forward(m, self.i, self.o, *self._passed)
        return m
