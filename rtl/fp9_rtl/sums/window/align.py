"""Add terms in a window of K fraction bits below the largest exponent of the terms."""

# Significands are not normalised before alignment. The exponent of a product is the sum of the exponents of its two
# factors. A subnormal operand is aligned with the lowest exponent of its format. Bits below the window are truncated:
#
#     exponent     +1  0 | -1 ...           -K |
#     product      x   x | xxxxxx              |
#     product 2            xxx  xxxxx          |
#     addend           1 | xxxxxxxxxxxxxxxxxxxx| xxx   truncated
#
# Non-zero truncated bits make the result inexact. With the truncation mode `jam`, the last kept bit becomes 1 if a
# dropped bit is 1. The mode `floor` rounds each negative number down: it subtracts 1 in the window's last bit if the
# number loses bits. An extra operand of the adder holds the total of these units.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.engines import Addend, Truncation
from fp9.units import Dot
from fp9_rtl.operands.addend import unpack_addend
from fp9_rtl.operands.decode import places_above_exponent
from fp9_rtl.parts.layouts import SPECIAL
from fp9_rtl.parts.select import any_of
from fp9_rtl.parts.shifters import shift_right_narrow
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.sums.adder import EXTRA_BITS
from fp9_rtl.sums.blocks import block_names, scaled_places
from fp9_rtl.sums.terms import classify, signed_sum


def term_names(unit: Dot) -> tuple[str, ...]:
    return unit.lane_names("product") if unit.engine.step.group is None else block_names(unit, unit.engine.step.group)


def places_above(unit: Dot) -> int:
    if unit.engine.step.group is not None:
        return scaled_places(unit, unit.engine.step.group)
    return 1 + places_above_exponent(unit.a) + places_above_exponent(unit.b)


def window_bits(unit: Dot) -> int:
    """Return the width of the addition window: a term's integer bits plus the kept fraction bits."""
    assert unit.engine.window.width is not None
    return places_above(unit) + 1 + unit.engine.window.width


def carry_places(unit: Dot) -> int:
    return len(term_names(unit)).bit_length()


class Term(NamedTuple):
    """A product, block sum or addend that is aligned to the largest term before the addition."""

    value: Value
    exponent: Value  # of the highest bit position; has no meaning for zero
    sign: Value
    zero: Value


@dataclass(frozen=True)
class Ranks:
    """Possible ranks (biased alignment exponents) of the terms of a sum."""

    # A term's rank is the exponent of its highest bit position, plus the exponent bias of the result format.

    exponents: range
    zero: int
    lowest: int

    @property
    def nothing(self) -> int:
        return self.exponents.start


def ranks_of(unit: Dot, products: range) -> Ranks:
    engine, addend, above = unit.engine, unit.engine.addend_format, places_above(unit)
    nothing, stop, inside = min(0, products.start - 1), products.stop, engine.window.addend is Addend.INSIDE
    if inside:
        stop = max(stop, addend.highest_exponent + addend.bias + above + 1)
    zero = nothing
    if engine.window.zero_exponent is not None:
        of_zeros = lowest_of_zeros(unit)
        if engine.window.addend is Addend.ALIGNED:  # the rank of zero products places the addend's window
            nothing = min(nothing, of_zeros)
        zero = max(nothing, of_zeros)
    return Ranks(range(nothing, max(stop, zero + 1)), zero, min(zero, above) if inside else nothing)


def lowest_of_zeros(unit: Dot) -> int:
    assert unit.engine.window.zero_exponent is not None
    return unit.engine.window.zero_exponent + unit.engine.result.format.bias + places_above(unit)


def headroom(unit: Dot, ranks: Ranks) -> int:
    below = 1 - ranks.lowest if unit.engine.result.format.subnormals else 0
    return max(carry_places(unit), below)


class Window:
    """Hardware that aligns products and addend to their largest exponent and truncates them to the window's width."""

    def __init__(self, m: Module, unit: Dot, ranks: Ranks, terms: Mapping[str, Term], name: str = "") -> None:
        self._m, self._ranks, self._name = m, ranks, name
        self._bits, self._jams = window_bits(unit), unit.engine.window.truncation is Truncation.JAM
        counted = {term: self._rank(term, t.exponent, t.zero) for term, t in terms.items()}
        self.top = self._largest(list(counted.values()))
        self.cut: dict[str, Value] = {}
        self.lost: dict[str, Value] = {}
        for term, t in terms.items():
            self.cut[term], self.lost[term] = self._cut(term, t.value, counted[term])

    def _signal(self, name: str) -> Signal:
        return Signal(Signal(self._ranks.exponents).shape(), name=f"{self._name}{name}")

    def _rank(self, name: str, exponent: Value, zero: Value) -> Signal:
        ranked = self._signal(f"rank_of_{name}")
        self._m.d.comb += ranked.eq(Mux(zero, self._ranks.zero, exponent))
        return ranked

    def _largest(self, exponents: list[Signal]) -> Signal:
        level = 0
        while len(exponents) > 1:
            level += 1
            larger = [self._signal(f"largest_{level}_{i}") for i in range(len(exponents) // 2)]
            for signal, x, y in zip(larger, exponents[::2], exponents[1::2], strict=False):
                self._m.d.comb += signal.eq(Mux(x > y, x, y))
            exponents = [*larger, *exponents[2 * len(larger) :]]
        return exponents[0]

    def _cut(self, name: str, value: Value, exponent: Signal) -> tuple[Value, Value]:
        distance = Signal(range(len(self._ranks.exponents)), name=f"{self._name}distance_of_{name}")
        self._m.d.comb += distance.eq(self.top - exponent)
        width = max(self._bits, len(value))
        bits, lost = shift_right_narrow(self._m, value, width, distance, f"{self._name}shifted_{name}")
        lost = lost | bits[: -self._bits].any()
        kept = bits[-self._bits :]
        return (kept | lost if self._jams else kept), lost


def product_terms(unit: Dot, i: data.View[data.StructLayout]) -> dict[str, Term]:
    products = {name: i[name] for name in term_names(unit)}
    return {name: Term(p.significand, p.exponent, p.sign, p.zero) for name, p in products.items()}


def units_below(lost: Mapping[str, Value], terms: Mapping[str, Term]) -> Value:
    """Return the number of negative terms that lose bits."""
    # Floor truncation subtracts 1 in the window's last bit for each of these terms.
    return sum((lost[name] & term.sign for name, term in terms.items()), Const(0, 1))


def aligned_layout(
    unit: Dot, terms: Sequence[str], window: Mapping[str, data.ShapeLike], passed: Mapping[str, data.ShapeLike]
) -> data.StructLayout:
    return data.StructLayout(
        {
            **{name: window_bits(unit) for name in terms},
            **{f"{name}_sign": 1 for name in terms},
            **window,
            "subtract": 1,
            "sign_of_infinity": 1,
            **SPECIAL,
            **passed,
        }
    )


class AlignWindow(Step):
    """Truncate the products to the addition window.

    The circuit also truncates the addend if the engine adds products and addend in one window. The output `dropped` is
    1 if any dropped bit was 1. The output `below` is the number of negative terms that lost bits. The fields named in
    `passed` are forwarded unchanged.
    """

    def __init__(self, unit: Dot, i: data.StructLayout, passed: tuple[str, ...] = ()) -> None:
        self.name = "align" if unit.engine.window.addend is Addend.INSIDE else "align_products"
        self._unit, self._passed = unit, passed
        products = term_names(unit)
        self.ranks = ranks_of(unit, i[products[0]].shape["exponent"].shape)
        inside = unit.engine.window.addend is Addend.INSIDE
        terms = (*products, *(("addend",) if inside else ()))
        floors = unit.engine.window.truncation is Truncation.FLOOR
        below = {"below": range(len(terms) + 1)} if floors else {}
        window = {"exponent": self.ranks.exponents, "dropped": 1, **below}
        super().__init__(i, aligned_layout(unit, terms, window, {name: i[name].shape for name in passed}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        o, unit = self.o, self._unit
        terms, addend = product_terms(unit, self.i), None
        if "addend" in o.shape().members:
            fmt = unit.engine.addend_format
            addend = unpack_addend(m, fmt, self.i.c)
            above = places_above(unit)
            significand = Cat(addend.significand, Const(0, above))
            terms["addend"] = Term(significand, addend.exponent + above, addend.sign, addend.zero)
        window = Window(m, unit, self.ranks, terms)
        products = [self.i[name] for name in term_names(unit)]
        m.d.comb += [
            o.exponent.eq(window.top),
            *(o[name].eq(bits) for name, bits in window.cut.items()),
            *(o[f"{name}_sign"].eq(term.sign) for name, term in terms.items()),
            o.dropped.eq(any_of(window.lost.values())),
            o.sign_of_infinity.eq(classify(m, products, addend, o)),
        ]
        if "below" in o.shape().members:
            m.d.comb += o.below.eq(units_below(window.lost, terms))
        forward(m, self.i, o, *self._passed)
        return m


class AddWindow(Step):
    """Add the aligned terms.

    The output is a sign and a magnitude. At the top, the magnitude of the sum is wider than a term by `places` bits.
    """

    def __init__(self, unit: Dot, places: int, i: data.StructLayout, passed: tuple[str, ...] = ()) -> None:
        self.name = "add" if unit.engine.window.addend is Addend.INSIDE else "add_products"
        result = unit.engine.result.format
        self._terms = tuple(name for name in (*term_names(unit), "addend") if name in i.members)
        self._bits = window_bits(unit) + places
        self._passed = ("exponent", "dropped", "subtract", *SPECIAL, *passed)
        o = {
            "sum": max(self._bits, result.precision + EXTRA_BITS),
            "sign": 1,
            **{name: i[name].shape for name in self._passed},
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        terms = [(i[name], i[f"{name}_sign"]) for name in self._terms]
        if "below" in i.shape().members:
            terms.append((i.below, Const(1, 1)))
        magnitude, negative = signed_sum(m, terms, self._bits)
        m.d.comb += [
            o.sum.eq(Cat(Const(0, len(o.sum) - self._bits), magnitude)),
            o.sign.eq(Mux(i.inf, i.sign_of_infinity, negative)),
        ]
        forward(m, i, o, *self._passed)
        return m
