"""The dual-format FPU: two products of 8-bit operands or one of 16-bit ones, one adder, normaliser and rounder.

The first product is formed by the multiplier of the 16-bit operands: an 8-bit operand takes the first places of its
significands. A 16-bit product has twice the precision, which is less than the window that a pair of products needs, and
the second product is then zero. An upcast is a product with 1, and zeros.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat, Rounding, Specials
from fp9.policy import Overflow
from fp9.units import OPERAND_SIGNIFICAND_BITS, Cast, Fpu, FpuOp
from fp9_rtl.adder import unpack_addend
from fp9_rtl.cast import cast_steps
from fp9_rtl.facts import SumFacts
from fp9_rtl.layouts import PRODUCT_SIGNIFICAND_BITS, flags_layout, ports_layout, product_layout
from fp9_rtl.operand import OperandDecoder
from fp9_rtl.pair import HEADROOM, AddPair, AlignPair
from fp9_rtl.rounder import Round
from fp9_rtl.step import Step, chain, forward
from fp9_rtl.terms import NormaliseSum

FPU_NEEDED = "the HFP8 formats, and an exact engine that rounds to dlfloat16 by rna"

_CODE_BITS = 8


def is_offered(unit: Fpu) -> bool:
    """Whether there is hardware for this unit: without infinities and subnormal numbers, and with the pair's engine."""
    engine = unit.engine
    return (
        engine.is_fused
        and engine.rounding is Rounding.RNA
        and all(
            isinstance(fmt, FixedFormat)
            and fmt.specials is Specials.MERGED
            and not fmt.subnormals
            and fmt.default_rounding is Rounding.RNA
            for fmt in (*unit.a, *unit.b, engine.result)
        )
    )


def fpu_steps(unit: Fpu) -> list[Step]:
    """The whole unit."""
    fmt = unit.engine.result
    assert isinstance(fmt, FixedFormat)
    decode = DecodeFpu(unit)
    multiply = MultiplyFpu(unit, decode.products)
    align = AlignPair(fmt, multiply.o.shape())
    add = AddPair(fmt, align.o.shape())
    normalise = NormaliseSum(fmt, HEADROOM, add.o.shape())
    facts = SumFacts(multiply.exponents, below_normal=True, overflow=True)
    steps = [multiply, align, add, normalise, Round(unit.engine, facts, normalise.o.shape())]
    if not unit.casts:
        return [decode, *steps]
    beside = {name: decode.o.shape()[name].shape for name in _BESIDE}
    return [decode, *(Beside(step, beside) for step in steps), Choose(unit, beside)]


_BESIDE = ("downcast", "code", "code_flags")
"""What goes past the adder: whether the operation is a downcast, and its result."""


class Beside(Step):
    """A step with fields that pass it unchanged."""

    def __init__(self, step: Step, beside: dict[str, data.ShapeLike]) -> None:
        self.name, self.levels = step.name, step.levels
        self._step, self._beside = step, beside
        layouts = (step.i.shape(), step.o.shape())
        i, o = (data.StructLayout({**{name: f.shape for name, f in s}, **beside}) for s in layouts)
        super().__init__(i, o)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules[self.name] = step = self._step
        m.d.comb += [step.i[name].eq(self.i[name]) for name, _ in step.i.shape()]
        m.d.comb += [self.o[name].eq(step.o[name]) for name, _ in step.o.shape()]
        forward(m, self.i, self.o, *self._beside)
        return m


class Choose(Step):
    """The sum, or the code of a downcast."""

    name = "choose"
    levels = 2

    def __init__(self, unit: Fpu, beside: dict[str, data.ShapeLike]) -> None:
        o = {"result": unit.engine.result.bits, "flags": flags_layout()}
        super().__init__(data.StructLayout({**o, **beside}), data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        m.d.comb += [
            o.result.eq(Mux(i.downcast, i.code, i.result)),
            o.flags.eq(Mux(i.downcast, i.code_flags.as_value(), i.flags.as_value())),
        ]
        return m


def _operand(bits: int, fmt: FixedFormat) -> data.StructLayout:
    """An operand of `bits` significand bits, its exponent biased as that of the 16-bit format."""
    fields = {"significand": bits, "exponent": range(1 << fmt.exponent_bits), "sign": 1, "zero": 1, "nan": 1}
    return data.StructLayout(fields)


class DecodeFpu(Step):
    """The factors of both products by operation, and the downcast, which goes past the rest."""

    name = "decode"
    levels = 12

    def __init__(self, unit: Fpu) -> None:
        fmt = unit.engine.result
        assert isinstance(fmt, FixedFormat)
        self._unit, self._format = unit, fmt
        wide, narrow = _operand(fmt.fraction_bits + 1, fmt), _operand(OPERAND_SIGNIFICAND_BITS, fmt)
        products = {"a0": wide, "b0": wide, "a1": narrow, "b1": narrow, "c": fmt.bits}
        self.products = data.StructLayout(products)
        beside = {"downcast": 1, "code": _CODE_BITS, "code_flags": flags_layout()} if unit.casts else {}
        super().__init__(ports_layout(unit.inputs), data.StructLayout({**products, **beside}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o, upcast = self.i, self.o, Signal()
        pair = Signal()
        m.d.comb += [
            pair.eq(i.op == FpuOp.FMMA),
            upcast.eq(i.op == FpuOp.UPCAST if self._unit.casts else 0),
            o.c.eq(i.c & (~upcast).replicate(len(i.c))),
        ]
        for operand, formats in (("a", self._unit.a), ("b", self._unit.b)):
            narrow = []
            for lane in range(2):
                decoder = OperandDecoder(formats, False, self._format.bias)
                m.submodules[f"decode_{operand}{lane}"] = decoder
                m.d.comb += decoder.code.eq(i[operand].word_select(lane, _CODE_BITS))
                if len(formats) > 1:
                    m.d.comb += decoder.select.eq(i[f"{operand}_format"])
                narrow.append(decoder.operand)
            is_one = upcast if operand == "b" else Const(0)
            self._first(m, operand, narrow[0], pair | upcast, is_one)
            self._second(m, o[f"{operand}1"], narrow[1], pair)
        if self._unit.casts:
            self._downcast(m)
        return m

    def _first(
        self, m: Module, operand: str, narrow: data.View[data.StructLayout], is_narrow: Value, is_one: Value
    ) -> None:
        """The first product's factor: a 16-bit operand, an 8-bit one with its significand at the top, or 1."""
        wide, o = unpack_addend(m, self._format, self.i[operand], f"wide_{operand}"), self.o[f"{operand}0"]
        room = len(o.significand) - OPERAND_SIGNIFICAND_BITS
        m.d.comb += [
            o.significand.eq(Mux(is_narrow, Cat(Const(0, room), narrow.significand), wide.significand)),
            o.exponent.eq(Mux(is_narrow, narrow.exponent, wide.exponent)),
            o.sign.eq(Mux(is_narrow, narrow.sign, wide.sign)),
            o.zero.eq(Mux(is_narrow, narrow.zero, wide.zero)),
            o.nan.eq(Mux(is_narrow, narrow.nan, wide.nan)),
        ]
        with m.If(is_one):
            one = {"significand": 1 << len(o.significand) - 1, "exponent": self._format.bias}
            m.d.comb += o.eq(o.shape().const(one))

    def _second(
        self,
        m: Module,
        o: data.View[data.StructLayout],
        narrow: data.View[data.StructLayout],
        pair: Value,
    ) -> None:
        """The second product's factor: zero where there is none."""
        m.d.comb += [
            o.significand.eq(narrow.significand & pair.replicate(OPERAND_SIGNIFICAND_BITS)),
            o.exponent.eq(narrow.exponent),
            o.sign.eq(narrow.sign),
            o.zero.eq(narrow.zero | ~pair),
            o.nan.eq(narrow.nan & pair),
        ]

    def _downcast(self, m: Module) -> None:
        """c as a code of a's format, by the cast unit's datapath."""
        unit = self._unit
        cast = Cast(unit.name, self._format, unit.a, (Rounding.RNA,), (Overflow.SATURATE,))
        steps = cast_steps(cast)
        operand = Signal(steps[0].i.shape(), name="cast_operand")
        m.d.comb += operand.x.eq(self.i.c)
        if len(unit.a) > 1:
            m.d.comb += operand.target.eq(self.i.a_format)
        code = chain(m, steps, operand)
        m.d.comb += [
            self.o.downcast.eq(self.i.op == FpuOp.DOWNCAST),
            self.o.code.eq(code.result),
            self.o.code_flags.eq(code.flags),
        ]


class MultiplyFpu(Step):
    """Both exact products, normalised; exponents on the scale of the result's field."""

    name = "multiply"
    levels = 24

    def __init__(self, unit: Fpu, i: data.StructLayout) -> None:
        fmt = unit.engine.result
        assert isinstance(fmt, FixedFormat)
        self._bias = fmt.bias
        factors = i["a0"].shape["exponent"].shape
        self.exponents = range(2 * factors.start - fmt.bias, 2 * factors.stop - fmt.bias)
        long = 2 * i["a0"].shape["significand"].width
        o = {
            "product0": product_layout(self.exponents, long),
            "product1": product_layout(self.exponents, PRODUCT_SIGNIFICAND_BITS),
            "c": i["c"].shape,
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for lane in range(2):
            a, b, product = self.i[f"a{lane}"], self.i[f"b{lane}"], self.o[f"product{lane}"]
            significand = Signal(len(product.significand), name=f"significand{lane}")
            at_least_two = significand[-1]
            m.d.comb += [
                significand.eq(a.significand * b.significand),
                product.significand.eq(Mux(at_least_two, significand, Cat(Const(0, 1), significand))),
                product.exponent.eq(a.exponent + b.exponent + at_least_two - self._bias),
                product.sign.eq(a.sign ^ b.sign),
                product.zero.eq(a.zero | b.zero),
                product.nan.eq(a.nan | b.nan),
            ]
        forward(m, self.i, self.o, "c")
        return m
