"""Truncate products to a window that ignores the addend, add them, then add the addend."""

# A multiply-add (module `adder`) adds the addend to the normalised truncated sum exactly. If the accumulator aligns
# addends, the addend is first truncated to the same window. The window does not depend on the addend, so all window
# hardware is outside an accumulator's feedback loop.

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data

from fp9.engines import Addend
from fp9.units import Dot
from fp9_rtl.operands.addend import unpack_addend
from fp9_rtl.parts.layouts import addend_layout, product_layout
from fp9_rtl.parts.shifters import shift_left_normalising
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.sums.window.align import AddWindow, AlignWindow, Ranks, carry_places, places_above


def normalised_products(unit: Dot, i: data.StructLayout, passed: tuple[str, ...]) -> list[Step]:
    """Return the stages that truncate the products to the addition window and add them."""
    # The last stage outputs the sum in the field `product`. The fields named in `passed` are forwarded unchanged. The
    # output `dropped` is 1 if a truncated bit was 1. For an accumulator with aligned addends, the output `top` holds
    # the exponent of the addition window.
    align = AlignWindow(unit, i, passed)
    add = AddWindow(unit, carry_places(unit), align.o.shape(), passed)
    kept = (*passed, "top") if unit.engine.window.addend is Addend.ALIGNED else passed
    return [align, add, NormaliseProducts(unit, align.ranks, add.o.shape(), kept)]


class NormaliseProducts(Step):
    """Normalise the truncated sum of the products, and output it in the form of a single product.

    The output `top` is the window's exponent.
    """

    name = "normalise_products"

    def __init__(self, unit: Dot, ranks: Ranks, i: data.StructLayout, passed: tuple[str, ...]) -> None:
        self._places = carry_places(unit)
        width = i["sum"].width
        self._passed = tuple(name for name in passed if name != "top")
        exponents = range(ranks.nothing + self._places - width + 1, ranks.exponents.stop + self._places)
        o = {
            "product": product_layout(exponents, width),
            **{name: i[name].shape for name in self._passed},
            "dropped": 1,
            **({"top": ranks.exponents} if "top" in passed else {}),
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, product = self.i, self.o.product
        significand, shift = shift_left_normalising(m, i.sum, None, Const(0))
        m.d.comb += [
            product.significand.eq(significand),
            product.exponent.eq(i.exponent + self._places - shift),
            product.zero.eq(~significand[-1]),
            product.nan.eq(i.nan & ~i.invalid),
        ]
        forward(m, i, product, "sign", "inf", "invalid")
        forward(m, i, self.o, "dropped", *self._passed)
        if "top" in self.o.shape().members:
            m.d.comb += self.o.top.eq(i.exponent)
        return m


class CutAddend(Step):
    """Unpack the addend and clear its bits below the addition window.

    If all products are zero and the accumulator has no `zero_exponent`, the addend keeps all its bits.
    """

    name = "cut"

    def __init__(self, unit: Dot, i: data.StructLayout) -> None:
        fmt = unit.engine.addend_format
        assert unit.engine.window.width is not None
        self._format, self._below = fmt, places_above(unit) + unit.engine.window.width
        self._nothing = i["top"].shape.start
        self._always = unit.engine.window.zero_exponent is not None
        o = {"product": i["product"].shape, "c": addend_layout(fmt), "dropped": 1}
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, i, o = self._format, self.i, self.o
        addend = unpack_addend(m, fmt, i.c)
        places = fmt.fraction_bits
        # Index in the addend's significand of the window's last place.
        last = i.top - self._below - addend.exponent + places
        first_kept = Signal.like(last)
        below = Signal(places + 1)
        cuts = ~(addend.inf | addend.nan) & (Const(1) if self._always else i.top != self._nothing)
        m.d.comb += [
            first_kept.eq(last),
            below.eq(Cat(first_kept > place for place in range(places + 1)) & cuts.replicate(places + 1)),
            o.dropped.eq(i.dropped | (addend.significand & below).any()),
            o.c.significand.eq(addend.significand & ~below),
            o.c.zero.eq(~o.c.significand.any()),
        ]
        forward(m, addend, o.c, "exponent", "sign", "inf", "nan")
        forward(m, i, o, "product")
        return m
