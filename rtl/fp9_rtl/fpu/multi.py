"""Datapath of one lane of a multi-format FPU."""

# Each operand has its own decoder. All operations share a multiplier, an adder, a normaliser and a rounder. The steps
# are: decode -> multiply -> align -> add -> normalise -> place -> round -> encode -> finish.

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from fp9.formats import HiFloat8, fixed_format
from fp9.formats.rounding import Flags, NanSign
from fp9.units import MultiFpu
from fp9.units.multi_fpu import ResultCast
from fp9_rtl.casts.cast_steps import Place, shown_bits
from fp9_rtl.casts.encode import Encode
from fp9_rtl.casts.round import RoundKept
from fp9_rtl.casts.target import CastTarget, HiFloat8Target, cast_target
from fp9_rtl.fpu.choices import overflows
from fp9_rtl.fpu.decode import DecodeMulti
from fp9_rtl.fpu.integers import EncodeIntegers, IntegerTarget, RoundIntegers
from fp9_rtl.fpu.operand import Scale
from fp9_rtl.fpu.sum import AddMulti, AlignMulti, MultiplyMulti, NormaliseMulti
from fp9_rtl.parts.layouts import ports_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Beside, Step


def lane_steps(unit: MultiFpu) -> list[Step]:
    decode = DecodeMulti(unit)
    return [decode, *sum_steps(unit, decode.o.shape())]


def sum_steps(unit: MultiFpu, i: data.StructLayout) -> list[Step]:
    """Return the datapath steps that follow the decoder. `i` is the layout of the decoder's output."""
    multiply = MultiplyMulti(unit, i)
    return [multiply, *addition_steps(unit, multiply.o.shape())]


def addition_steps(unit: MultiFpu, i: data.StructLayout) -> list[Step]:
    """Return the datapath steps that follow the multiplier. `i` is the layout of the multiplier's output."""
    align = AlignMulti(unit, i)
    add = AddMulti(align.o.shape())
    normalise = NormaliseMulti(unit, fraction_bits(unit), add.o.shape())
    return [align, add, normalise, *rounding_steps(unit, normalise)]


def fraction_bits(unit: MultiFpu) -> int:
    """Return how many bits of the normalised sum the rounder reads, with a sticky bit."""
    sticky = 1
    return shown_bits(_result_cast(unit), _targets(unit)) + sticky


def rounding_steps(unit: MultiFpu, normalise: NormaliseMulti) -> list[Step]:
    """Return the datapath steps that follow the normaliser."""
    cast, targets = _result_cast(unit), _targets(unit)
    exact = data.StructLayout({n: f.shape for n, f in normalise.o.shape() if n not in normalise.beside})
    place = PlaceMulti(unit, cast, targets, exact)
    rounded = _rounder(unit, cast, targets, place, normalise.beside)
    return [*rounded, Finish(unit, rounded[-1].o.shape())]


class PlaceMulti(Place):
    """Shift the exact sum so that its last kept bit is at the rounding position.

    A subnormal result has one fraction bit less for each binade below the smallest normal number. With tininess before
    rounding, every number below the smallest normal number is tiny, even if the number rounds up to a normal number.
    """

    def __init__(self, unit: MultiFpu, cast: ResultCast, targets: list[CastTarget], i: data.StructLayout) -> None:
        super().__init__(cast, targets, i)
        self._before = unit.tiny_before_rounding
        self._distance = Signal(signed(len(self.i.exponent) + 2), name="distance")
        self._normal = Signal(name="is_normal")

    def _place(self, m: Module, places: Signal) -> None:
        limit, unused = Signal.like(self._distance, name="limit"), Signal(signed(len(places) + 1), name="unused")
        for target in self._each_target(m):
            if not isinstance(target, HiFloat8Target):
                dropped = self._window - target.lowest_fraction_bits
                m.d.comb += [limit.eq(target.lowest + target.bias + dropped), unused.eq(dropped)]
        distance = self._distance
        m.d.comb += distance.eq(limit - self.i.exponent)
        deepest, normal = self._deepest, self._normal
        m.d.comb += normal.eq(distance <= unused)
        for target in self._each_target(m):
            if isinstance(target, HiFloat8Target):
                target.places(m, self.i.exponent, self._window, places)
            elif target.has_subnormals or isinstance(target, IntegerTarget):
                m.d.comb += places.eq(Mux(normal, unused, Mux(distance > deepest, deepest, distance)))
            else:
                m.d.comb += places.eq(unused)

    def _is_normal(self, target: CastTarget) -> Value:
        return super()._is_normal(target) if isinstance(target, HiFloat8Target) else self._normal

    def _leading_bit(self) -> Value:
        return ~self.i.zero

    def _all_ones(self, m: Module, places: Signal) -> None:
        # In formats with fixed fields, only normal numbers use the exponent after a carry out of the fraction.
        super()._all_ones(m, places)
        for target in self._each_target(m):
            if not isinstance(target, HiFloat8Target):
                m.d.comb += self.o.all_ones.eq(self.o.kept[: target.fraction_bits].all())

    def _hybrid_zones(self, m: Module, target: CastTarget) -> None:
        # In hybrid rounding, an operation without a threshold rounds to nearest.
        super()._hybrid_zones(m, target)
        with m.If(~self.i.reads_source):
            m.d.comb += self.o.hybrid.nearest.eq(1)

    def _near_normal(self, m: Module, target: CastTarget) -> None:
        if not self._before:
            super()._near_normal(m, target)


def _result_cast(unit: MultiFpu) -> ResultCast:
    """Return the cast that rounds the exact sum."""
    source = max(unit.hybrid_sources, key=lambda fmt: sum(HiFloat8.threshold_bits(fmt)), default=fixed_format("fp16"))
    return ResultCast(
        unit.name,
        source,
        unit.formats,
        unit.roundings,
        overflows(unit),
        random_bits=unit.random_bits,
        nan_sign=NanSign.LOST,
    )


def _targets(unit: MultiFpu) -> list[CastTarget]:
    bias = Scale.of(unit).sum_bias - 1  # the sum has a bit above the first bit of its terms
    targets = [cast_target(fmt, bias, unit.random_width or 1) for fmt in unit.formats]
    return [*targets, *(IntegerTarget(unit, bias) for _ in unit.integers[:1])]


def _rounder(
    unit: MultiFpu, cast: ResultCast, targets: list[CastTarget], place: PlaceMulti, beside: dict[str, data.ShapeLike]
) -> list[Step]:
    i = place.o.shape()
    rounded = RoundIntegers(unit, cast, i) if unit.integers else RoundKept(cast, i)
    encode = Encode(cast, targets[: len(unit.formats)], rounded.o.shape())
    last = EncodeIntegers(unit, encode, beside) if unit.integers else Beside(encode, beside)
    return [Beside(place, beside), Beside(rounded, beside), last]


class Finish(Step):
    """Output the flags, the tag, and the result: the rounded sum, or the value of an operation that needs no rounding.

    If the unit uses NaN boxing, all bits above a narrow result are 1.
    """

    name = "finish"

    def __init__(self, unit: MultiFpu, i: data.StructLayout) -> None:
        self._unit = unit
        super().__init__(i, ports_layout(unit.outputs))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, unit = self.i, self._unit
        members = i.shape().members
        code = i.result | self._boxes(m)
        rounded = i.rounded if "rounded" in members else Const(1, 1)
        other = i.other if "rounded" in members else Const(0, 0)
        m.d.comb += self.o.result.eq(Mux(rounded, code, other))
        if unit.flags:
            flags = Signal.like(i.flags.as_value())
            invalid = Cat(Const(0, len(flags) - 1), Const(1, 1))
            m.d.comb += [
                flags.eq(i.flags.as_value() & (rounded & ~i.invalid).replicate(len(flags))),
                self.o.flags.eq(flags | Mux(i.invalid, invalid, 0)),
            ]
            if "by_zero" in members:
                with m.If(i.by_zero & rounded & ~i.invalid):
                    m.d.comb += self.o.flags.eq(Flags.DIVIDE_BY_ZERO)
        if unit.tag:
            m.d.comb += self.o.result_tag.eq(i.tag)
        return m

    def _boxes(self, m: Module) -> Value:
        unit = self._unit
        boxes = Signal(unit.word)
        if unit.nan_boxing:
            select = self.i.result_target if len(unit.formats) > 1 else Const(0, 0)
            for fmt in switch(m, select, unit.formats):
                m.d.comb += boxes.eq((1 << unit.word) - (1 << fmt.bits))
        return boxes
