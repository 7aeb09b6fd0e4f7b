"""Build the datapath of the `cast` unit, which rounds a 16- or 32-bit float to an 8-bit format."""

# The number of kept fraction bits depends on the number's magnitude and on the target format. A right shift therefore
# moves the last kept bit to a fixed position, where the rounder adds:
#
#     1.ffffffffff  ->  001f | gttt sssss    kept bits (right-aligned, as in a code), tail with the guard first, sticky
#
# After rounding, the leading 1 of a normal number is removed and an exponent field is added. The kept bits of a
# subnormal number already are its code without the sign.

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat, HiFloat8, Rounding, Specials
from fp9.units import SCALE_BITS, Cast
from fp9_rtl.casts.encode import Encode
from fp9_rtl.casts.lanes import EachLane, Join, Spread, beside_lanes, lane_layout
from fp9_rtl.casts.round import RoundKept
from fp9_rtl.casts.target import CastTarget, HiFloat8Target, cast_target
from fp9_rtl.operands.decode import is_nan
from fp9_rtl.parts.layouts import fields_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.shifters import shift_left_normalising, shift_right_sticky
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.rounding.hybrid import HYBRID_ZONES, hybrid_bits, hybrid_threshold

SELECTS = ("target", "rounding", "overflow", "random")

LARGEST_SCALE = 1 << (SCALE_BITS - 1)


def cast_steps(unit: Cast) -> list[Step]:
    if unit.lanes == 1 and not unit.amax:
        return lane_steps(unit)
    sections = zip(*(lane_steps(unit) for _ in range(unit.lanes)), strict=True)
    return [Spread(unit), *(EachLane(section, beside_lanes(unit)) for section in sections), Join(unit)]


def lane_steps(unit: Cast) -> list[Step]:
    assert isinstance(unit.source, FixedFormat)
    targets = [cast_target(fmt, unit.source.bias, random_bits(unit) or 1) for fmt in unit.targets]
    unpack = Unpack(unit, targets)
    place = Place(unit, targets, unpack.o.shape())
    rounded = RoundKept(unit, place.o.shape())
    return [unpack, place, rounded, Encode(unit, targets, rounded.o.shape())]


def random_bits(unit: Cast) -> int:
    return unit.random_bits if Rounding.SR in unit.roundings else 0


def shown_bits(unit: Cast, targets: list[CastTarget]) -> int:
    """Return how many fraction bits of a number the rounder reads one by one. It reads the OR of all further bits."""
    tail = max(1, hybrid_bits(unit), random_bits(unit))
    return max(target.fraction_bits for target in targets) + tail


class Unpack(Step):
    """Unpack the source number, and add the scale to its exponent.

    Subnormal source numbers are normalised only if a target format represents them as non-zero.
    """

    name = "unpack"

    def __init__(self, unit: Cast, targets: list[CastTarget]) -> None:
        assert isinstance(unit.source, FixedFormat)
        self._source = unit.source
        self._scales = unit.scale
        self._finite = unit.finite_only
        largest_scale = LARGEST_SCALE if unit.scale else 0
        floor = min(target.floor for target in targets) - largest_scale
        self._normalises = unit.source.subnormals and floor < unit.source.min_normal_exponent
        i = lane_layout(unit)
        lowest = 1 - unit.source.fraction_bits if self._normalises else 0
        fields = {
            "fraction": unit.source.fraction_bits,
            "exponent": range(lowest - largest_scale, (1 << unit.source.exponent_bits) + largest_scale),
            "threshold": hybrid_bits(unit),
            "sign": 1,
            "zero": 1,
            "inf": 1,
            "nan": 1,
        }
        self._selects = [name for name in SELECTS if name in i.members]
        super().__init__(i, data.StructLayout({**fields, **{name: i[name].shape for name in self._selects}}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, o = self._source, self.o
        fields = data.View(fields_layout(source), self.i.x)
        nan, inf = self._specials(fields)
        m.d.comb += [
            o.zero.eq(self.i.x[:-1] == 0),
            o.nan.eq(nan),
            o.inf.eq(inf),
            o.threshold.eq(hybrid_threshold(source, self.i.x, len(o.threshold))),
            o.sign.eq(fields.sign & ~((not source.signed_zero) & (o.zero | o.nan))),
            o.fraction.eq(fields.fraction),
        ]
        exponent = Signal.like(o.exponent, name="unscaled_exponent") if self._scales else o.exponent
        m.d.comb += exponent.eq(fields.exponent)
        if self._normalises:
            self._normalise(m, fields, exponent)
        if self._scales:
            m.d.comb += o.exponent.eq(exponent + self.i.scale)
        forward(m, self.i, o, *self._selects)
        return m

    def _specials(self, fields: data.View[data.StructLayout]) -> tuple[Value, Value]:
        # If the source format encodes NaN as -0, all bits of NaN except the sign are 0.
        source, magnitude = self._source, self.i.x[:-1]
        if source.specials is Specials.IEEE:
            top = fields.exponent.all()
            special = 0 if self._finite else top
            return special & fields.fraction.any(), special & ~fields.fraction.any()
        return is_nan(source, self.i.x), magnitude == source.inf_code(False) if source.has_inf else Const(0)

    def _normalise(self, m: Module, fields: data.View[data.StructLayout], exponent: Value) -> None:
        # A number with exponent field 0 has the same exponent as a number with exponent field 1.
        normalised, zeros = shift_left_normalising(m, fields.fraction, None, only_last=Const(0))
        with m.If(fields.exponent == 0):
            m.d.comb += [self.o.fraction.eq(normalised << 1), exponent.eq(-zeros)]


class Place(Step):
    """Shift the last kept bit of the significand to a fixed position, and output the bits that decide the rounding."""

    name = "place"

    def __init__(self, unit: Cast, targets: list[CastTarget], i: data.StructLayout) -> None:
        self._targets = targets
        self._window = max(target.fraction_bits for target in targets)
        self._hybrid = Rounding.HYBRID in unit.roundings
        self._tail = shown_bits(unit, targets) - self._window
        self._deepest = self._window + 1 + (random_bits(unit) or 1)
        self._passed = [name for name in i.members if name not in ("fraction", "exponent")]
        o = {
            "kept": self._window + 1,
            "tail": self._tail,
            "sticky": 1,
            "exponent": i["exponent"].shape,
            "normal": 1,
            "last": 1,
            "all_ones": 1,
            "near_normal": 1,
            "near_tail": self._tail,
            "near_sticky": 1,
            "hybrid": HYBRID_ZONES,
        }
        if any(not target.lowest_fraction_bits for target in targets):
            o["near_last"] = 1
        super().__init__(i, data.StructLayout({**o, **{name: i[name].shape for name in self._passed}}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        o = self.o
        places = Signal(range(self._deepest + 1))
        self._place(m, places)
        self._shift(m, places)
        for target in self._each_target(m):
            self._near_normal(m, target)
            m.d.comb += [
                o.normal.eq(self._is_normal(target)),
                o.exponent.eq(target.clamped(self.i.exponent)),
                o.last.eq(target.last_place(o.exponent, o.kept, o.normal)),
            ]
            if self._hybrid:
                self._hybrid_zones(m, target)
        self._all_ones(m, places)
        forward(m, self.i, o, *self._passed)
        return m

    def _each_target(self, m: Module) -> Iterator[CastTarget]:
        select = self.i.target if len(self._targets) > 1 else Const(0, 0)
        return switch(m, select, self._targets)

    def _place(self, m: Module, places: Signal) -> None:
        for target in self._each_target(m):
            target.places(m, self.i.exponent, self._window, places)

    def _is_normal(self, target: CastTarget) -> Value:
        return target.is_normal(self.i.exponent)

    def _all_ones(self, m: Module, places: Signal) -> None:
        # If all kept fraction bits are 1, rounding up increments the exponent.
        fraction, window = self.i.fraction, self._window
        ones = Cat(fraction[-1 - bit] | (places >= window - bit) for bit in range(window)).all()
        m.d.comb += self.o.all_ones.eq(ones)

    def _shift(self, m: Module, places: Value) -> None:
        shown = self._window + self._tail
        hidden_bits = len(self.i.fraction) - shown
        padded = Cat(Const(0, max(0, -hidden_bits)), self.i.fraction, self._leading_bit())
        shifted, lost = shift_right_sticky(m, padded[-1 - shown :], places)
        m.d.comb += [
            Cat(self.o.tail, self.o.kept).eq(shifted),
            self.o.sticky.eq(lost | self.i.fraction[: max(0, hidden_bits)].any()),
        ]

    def _leading_bit(self) -> Value:
        return Const(1, 1)

    def _near_normal(self, m: Module, target: CastTarget) -> None:
        # The tininess test rounds a number just below the normal numbers to the full precision of normal numbers.
        padded = Cat(Const(0, self._tail), self.i.fraction)
        tail_top = len(padded) - target.lowest_fraction_bits
        beside = self.i.exponent == target.lowest + target.bias - 1
        m.d.comb += [
            self.o.near_normal.eq(beside & padded[tail_top:].all() & target.has_subnormals),
            self.o.near_tail.eq(padded[tail_top - self._tail : tail_top]),
            self.o.near_sticky.eq(padded[: tail_top - self._tail].any()),
        ]
        if "near_last" in self.o.shape().members:
            # Without fraction bits, the code's last bit is an exponent bit, which is 0 just below the normal numbers.
            m.d.comb += self.o.near_last.eq(target.lowest_fraction_bits > 0)

    def _hybrid_zones(self, m: Module, target: CastTarget) -> None:
        exponent, zones = self.i.exponent, self.o.hybrid
        if not isinstance(target, HiFloat8Target):
            m.d.comb += zones.nearest.eq(1)
            return
        m.d.comb += [
            zones.nearest.eq(abs(exponent - target.bias) < HiFloat8.STOCHASTIC_FROM),
            zones.certain.eq(exponent >= target.highest + target.bias),
            zones.never.eq(exponent < target.zero + target.bias),
        ]
