"""Datapath of the dual-format FPU: two 8-bit products or one 16-bit product, plus an addend."""

# The 16-bit multiplier forms two 8-bit products at once, in the upper and lower bits of its output. An upcast is the
# exact product of the 8-bit number and 1, plus zero. A downcast passes the 16-bit number through the addend's path
# and rounds it to 8 bits.

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat, Format, Rounding
from fp9.units import OPERAND_SIGNIFICAND_BITS, Fpu, FpuOp
from fp9_rtl.fpu.round import CODE_BITS, TARGET, RoundFpu
from fp9_rtl.operands.addend import unpack_addend
from fp9_rtl.operands.decode import OperandDecoder
from fp9_rtl.parts.condition import Circuits, Condition
from fp9_rtl.parts.layouts import PRODUCT_SIGNIFICAND_BITS, operand_layout, ports_layout, product_layout
from fp9_rtl.parts.step import Beside, Step, forward
from fp9_rtl.rounding.facts import SumFacts
from fp9_rtl.rounding.rounder import Round
from fp9_rtl.sums.pair import addition

LANES = 2


def _is_merged(_: Fpu, fmt: Format) -> bool:
    return fmt.nan_is_inf and fmt.flushes and fmt.default_rounding is Rounding.RNA


_SHARED = (
    "8-bit and 16-bit products share one datapath, which has neither infinities beside NaN-Inf nor subnormal numbers"
)

_OPERANDS = (
    "formats of HFP8: hfp8_143, hfp8_152; for other formats take a unit of kind multi_fpu, such as fpu_mixed_dlfloat16"
)

CIRCUITS = Circuits(
    "an fpu",
    Fpu,
    (
        Condition("a", _is_merged, _OPERANDS, _SHARED),
        Condition("b", _is_merged, _OPERANDS, _SHARED),
        Condition("engine.result.format", _is_merged, "dlfloat16", _SHARED),
        Condition("engine.result.rounding", lambda _, value: value is Rounding.RNA, "rna", _SHARED),
    ),
)


def fpu_steps(unit: Fpu) -> list[Step]:
    decode = DecodeFpu(unit)
    multiply = MultiplyFpu(unit, decode.products)
    added = addition(unit.engine.result.format, multiply.o.shape())
    if not unit.casts:
        facts = SumFacts(multiply.exponents, below_normal=True, overflow=True)
        return [decode, multiply, *added, Round(unit.engine, facts, added[-1].o.shape())]
    beside = {name: decode.o.shape()[name].shape for name in decode.beside}
    steps: list[Step] = [Beside(step, beside) for step in (multiply, *added)]
    return [decode, *steps, RoundFpu(unit, steps[-1].o.shape())]


def _factors(fmt: FixedFormat) -> data.StructLayout:
    # All exponents have the bias of the 16-bit format. `wide` is the significand of a 16-bit number. `narrow0` and
    # `narrow1` are the significands of two 8-bit numbers. Unused significands are 0. The other fields of lane 0
    # belong to the 16-bit number or to the first 8-bit number.
    lanes: dict[str, data.ShapeLike] = {}
    for lane in range(LANES):
        lanes |= {f"narrow{lane}": OPERAND_SIGNIFICAND_BITS, f"exponent{lane}": fmt.exponent_bits}
        lanes |= {f"{name}{lane}": 1 for name in ("sign", "zero", "nan")}
    return data.StructLayout({"wide": fmt.precision, **lanes})


def _where(value: Value, taken: Value) -> Value:
    return value & taken.replicate(len(value))


class DecodeFpu(Step):
    """Decode the factors of the products that the selected operation computes.

    Each format has its own decoder. A decoder outputs the significand 0 if the selected operation or format does not
    need this decoder. In a downcast, all factors are zero.
    """

    name = "decode"

    def __init__(self, unit: Fpu) -> None:
        fmt = unit.engine.result.format
        self._unit, self._format = unit, fmt
        self.products = data.StructLayout({"a": _factors(fmt), "b": _factors(fmt), "pair": 1, "c": fmt.bits})
        i = ports_layout(unit.inputs)
        beside = {"downcast": 1, **{name: i[name].shape for name in (TARGET,) if name in i.members}}
        self.beside = beside if unit.casts else {}
        super().__init__(i, data.StructLayout({**self.products.members, **self.beside}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        wide, upcast = Signal(), Signal()
        m.d.comb += [
            o.pair.eq(i.op == FpuOp.FMMA),
            wide.eq(i.op == FpuOp.FMA),
            upcast.eq(i.op == FpuOp.UPCAST if self._unit.casts else 0),
            o.c.eq(_where(i.c, ~upcast)),
        ]
        if self._unit.casts:
            m.d.comb += o.downcast.eq(i.op == FpuOp.DOWNCAST)
            forward(m, i, o, *(name for name in self.beside if name in i.shape().members))
        self._factors(m, "a", wide, (o.pair | upcast, o.pair), Const(0))
        self._factors(m, "b", wide, (o.pair, o.pair), upcast)
        return m

    def _factors(self, m: Module, name: str, wide: Value, narrow: Sequence[Value], one: Value) -> None:
        fmt, o = self._format, self.o[name]
        number = unpack_addend(m, fmt, self.i[name], f"wide_{name}")
        first, second = (self._decoded(m, name, lane, taken) for lane, taken in enumerate(narrow))
        leading = Const(1 << OPERAND_SIGNIFICAND_BITS - 1, OPERAND_SIGNIFICAND_BITS)
        exponent = Const(fmt.bias, fmt.exponent_bits)
        m.d.comb += [
            o.wide.eq(_where(number.significand, wide)),
            o.narrow0.eq(first.significand | _where(leading, one)),
            o.exponent0.eq(_where(number.exponent, wide) | first.exponent | _where(exponent, one)),
            o.sign0.eq((number.sign & wide) | (first.sign & narrow[0])),
            o.zero0.eq(~((wide & ~number.zero) | (narrow[0] & ~first.zero) | one)),
            o.nan0.eq((number.nan & wide) | (first.nan & narrow[0])),
            o.narrow1.eq(second.significand),
            o.exponent1.eq(second.exponent),
            o.sign1.eq(second.sign),
            o.zero1.eq(second.zero | ~narrow[1]),
            o.nan1.eq(second.nan & narrow[1]),
        ]

    def _decoded(self, m: Module, name: str, lane: int, taken: Value) -> data.View[data.StructLayout]:
        # If `taken` is 0, the significand is 0, and so is the exponent of lane 0.
        formats = {"a": self._unit.a, "b": self._unit.b}[name]
        bits = self._format.exponent_bits
        operand = Signal(operand_layout(range(1 << bits)), name=f"{name}{lane}")
        decoders = [OperandDecoder((fmt,), False, self._format.bias) for fmt in formats]
        significand, exponent = Const(0), Const(0)
        for index, decoder in enumerate(decoders):
            m.submodules[f"decode_{name}{lane}_{index}"] = decoder
            m.d.comb += decoder.code.eq(self.i[name].word_select(lane, CODE_BITS))
            chosen: Value = Const(1)
            if len(formats) > 1:
                select = self.i[f"{name}_format"]
                chosen = select >= index if index == len(formats) - 1 else select == index
            significand |= _where(decoder.operand.significand, chosen & taken)
            exponent |= _where(decoder.operand.exponent[:bits], chosen if lane else chosen & taken)
        flags = decoders[0].operand  # zero is all zeros and NaN-Inf all ones in every format that is offered
        m.d.comb += [
            operand.significand.eq(significand),
            operand.exponent.eq(exponent),
            *(operand[flag].eq(flags[flag]) for flag in ("sign", "zero", "nan")),
        ]
        return operand


class MultiplyFpu(Step):
    """Compute one 16-bit product or two 8-bit products exactly with one multiplier, and normalise the products.

    The exponents of the products have the bias of the result format. For 8-bit operands, the two products of 4-bit
    significands occupy separate bits of the multiplier's output:

        bbbb......  x  aaaa......  ->  pppppppp............
        ......bbbb  x  ......aaaa  ->  ............pppppppp
    """

    name = "multiply"

    def __init__(self, unit: Fpu, i: data.StructLayout) -> None:
        fmt = unit.engine.result.format
        self._bias = fmt.bias
        self._wide = fmt.precision
        self.exponents = range(-fmt.bias, 2 * (1 << fmt.exponent_bits) - fmt.bias)
        o = {
            "product0": product_layout(self.exponents, 2 * self._wide),
            "product1": product_layout(self.exponents, PRODUCT_SIGNIFICAND_BITS),
            "c": i["c"].shape,
        }
        super().__init__(i, data.StructLayout(o))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low, high = self._products(m)
        for lane, exact in ((0, high), (1, low)):
            a, b, o = self.i.a, self.i.b, self.o[f"product{lane}"]
            significand = Signal(len(exact), name=f"significand{lane}")
            at_least_two = significand[-1]
            m.d.comb += [
                significand.eq(exact),
                o.significand.eq(Mux(at_least_two, significand, Cat(Const(0, 1), significand))),
                o.exponent.eq(a[f"exponent{lane}"] + b[f"exponent{lane}"] + at_least_two - self._bias),
                o.sign.eq(a[f"sign{lane}"] ^ b[f"sign{lane}"]),
                o.zero.eq(a[f"zero{lane}"] | b[f"zero{lane}"]),
                o.nan.eq(a[f"nan{lane}"] | b[f"nan{lane}"]),
            ]
        forward(m, self.i, self.o, "c")
        return m

    def _products(self, m: Module) -> tuple[Value, Value]:
        # The second product comes first. It is 0 if the selected operation has only one product.
        a, b, pair = self.i.a, self.i.b, self.i.pair
        top = Const(0, self._wide - OPERAND_SIGNIFICAND_BITS)
        product = Signal(2 * self._wide)
        lower, upper = Signal(len(top)), Signal(OPERAND_SIGNIFICAND_BITS)
        m.d.comb += [
            lower.eq(b.wide[: len(top)] | b.narrow1),
            upper.eq(b.wide[len(top) :] | b.narrow0),
            product.eq((a.wide | a.narrow1) * lower + (a.wide | Cat(top, a.narrow0)) * Cat(top, upper)),
        ]
        below = len(product) - PRODUCT_SIGNIFICAND_BITS
        return _where(product[:PRODUCT_SIGNIFICAND_BITS], pair), Cat(_where(product[:below], ~pair), product[below:])
