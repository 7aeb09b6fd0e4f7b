"""Results of a multi-format FPU that need no rounding, such as comparisons."""

# Such an operation returns one of two words, which a comparison of the operands a and c selects. The adder
# computes a - c exactly, and the sign of the difference gives the order.

from __future__ import annotations

from typing import TypeAlias

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat, Format
from fp9.units import MultiFpu, MultiFpuOp
from fp9.units.multi_fpu import CLASS_BITS, COMPARISONS, EXTREMA, SIGNALING
from fp9_rtl.fpu.choices import SUMS, is_operation
from fp9_rtl.operands import hif8
from fp9_rtl.parts.select import switch

_Op = MultiFpuOp
View: TypeAlias = "data.View[data.StructLayout]"


def others_layout(unit: MultiFpu) -> data.StructLayout:
    # The order of the operands a and c selects one of the fields `if_less`, `if_equal` and `if_greater`. If the
    # selected field is 1, the result is the word `first`, and otherwise the word `second`.
    if all(op in SUMS for op in unit.operations):
        return data.StructLayout({})
    conditions = dict.fromkeys(("rounded", "invalid", "if_less", "if_equal", "if_greater"), 1)
    return data.StructLayout({**conditions, "first": unit.word, "second": unit.word})


class Others:
    def __init__(self, m: Module, unit: MultiFpu, ports: View, a: View, c: View, o: View) -> None:
        # In a unit whose operations never read operand c, the argument `c` is operand a.
        self._m, self._unit, self._ports = m, unit, ports
        self._a, self._c, self._o = a, c, o

    def drive(self) -> None:
        a, c, o = self._a, self._c, self._o
        first, second = Signal(self._unit.word, name="word_of_a"), Signal(self._unit.word, name="word_of_c")
        mask, nan = Signal(CLASS_BITS, name="class_mask"), Signal(self._unit.word, name="canonical_nan")
        for fmt in switch(self._m, self._select(), self._unit.formats):
            self._words(fmt, first, second, nan)
            self._m.d.comb += mask.eq(self._mask(fmt))
        compares, classifies = self._is(*COMPARISONS), self._is(_Op.CLASSIFY)
        both_nan = self._is(*EXTREMA) & a.nan & c.nan
        word = Mux(both_nan, nan, first)
        self._m.d.comb += [
            o.rounded.eq(self._is(*SUMS)),
            o.first.eq(Mux(compares, 1, Mux(classifies, mask, word))),
            o.second.eq(second & ~compares.replicate(len(second))),
            o.invalid.eq(
                (self._is(*SIGNALING) & (a.nan | c.nan))
                | (self._is(*EXTREMA, *COMPARISONS) & (a.signaling | c.signaling))
            ),
        ]
        self._order()

    def _order(self) -> None:
        # A comparison with NaN is false. The minimum of +0 and -0 is -0.
        a, c, o = self._a, self._c, self._o
        compares, extremum, smaller = self._is(*COMPARISONS), self._is(*EXTREMA), self._is(_Op.MIN)
        below = self._is(_Op.LT, _Op.LE, _Op.LT_QUIET, _Op.LE_QUIET) | smaller
        equal = self._is(_Op.EQ, _Op.EQ_SIGNALING, _Op.LE, _Op.LE_QUIET) | (extremum & ~(a.sign ^ smaller))
        always = ~(compares | extremum) | (extremum & c.nan)
        ordered = ~(a.nan | c.nan)
        self._m.d.comb += [
            o.if_less.eq(always | (ordered & below)),
            o.if_equal.eq(always | (ordered & equal)),
            o.if_greater.eq(always | (ordered & extremum & ~smaller)),
        ]

    def _is(self, *ops: MultiFpuOp) -> Value:
        return is_operation(self._unit, self._ports, *ops)

    def _select(self) -> Value:
        several = len(self._unit.formats) > 1
        return self._ports[self._unit.format_port("a")] if several else Const(0, 0)

    def _words(self, fmt: Format, first: Signal, second: Signal, nan: Signal) -> None:
        boxes = Const((1 << self._unit.word - fmt.bits) - 1 if self._unit.nan_boxing else 0, self._unit.word - fmt.bits)
        code_a = self._code(fmt, "a")
        code_c = self._code(fmt, "c") if "c" in self._unit.operands else code_a
        sign, of_c = code_a[-1], code_c[-1]
        sign = Mux(self._is(_Op.SGNJ), of_c, sign)
        sign = Mux(self._is(_Op.SGNJN), ~of_c, sign)
        sign = Mux(self._is(_Op.SGNJX), code_a[-1] ^ of_c, sign)
        self._m.d.comb += [
            first.eq(Cat(self._canonical(fmt, Cat(code_a[:-1], sign), self._a), boxes)),
            second.eq(Cat(self._canonical(fmt, code_c, self._c), boxes)),
            nan.eq(Cat(Const(fmt.nan_code(False) or 0, fmt.bits), boxes)),
        ]

    def _code(self, fmt: Format, name: str) -> Value:
        # With NaN boxing, a code below bits that are not all 1 counts as the canonical NaN.
        word = self._ports[name]
        code = word[: fmt.bits]
        if not self._unit.nan_boxing or fmt.bits == self._unit.word:
            return code
        boxed = Signal(fmt.bits, name=f"boxed_{name}_{fmt.name}")
        self._m.d.comb += boxed.eq(Mux(word[fmt.bits :].all(), code, fmt.nan_code(False)))
        return boxed

    def _canonical(self, fmt: Format, code: Value, operand: View) -> Value:
        if not fmt.signed_zero:
            code = Mux(operand.zero, 0, code)[: fmt.bits]
        if fmt.has_nan and fmt.nan_code(True) == fmt.nan_code(False):
            code = Mux(operand.nan, fmt.nan_code(False), code)[: fmt.bits]
        return code

    def _mask(self, fmt: Format) -> Value:
        """Return the one-hot class mask of operand a (RISC-V, FCLASS)."""
        a = self._a
        finite = ~(a.zero | a.inf | a.nan)
        tiny = finite & self._is_subnormal(fmt)
        away = (a.zero & ~a.nan, tiny, finite & ~tiny, a.inf & ~a.nan)
        negative = [kind & a.sign for kind in reversed(away)]
        positive = [kind & ~a.sign for kind in away]
        return Cat(*negative, *positive, a.signaling, a.nan & ~a.signaling)

    def _is_subnormal(self, fmt: Format) -> Value:
        # If operand a is infinite, NaN or zero, the returned value has no meaning.
        magnitude = self._ports.a[: fmt.bits - 1]
        if isinstance(fmt, FixedFormat):
            return ~magnitude[fmt.fraction_bits :].any() if fmt.subnormals else Const(0)
        return ~magnitude[hif8.DENORMAL_BITS :].any()
