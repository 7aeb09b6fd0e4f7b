"""Round a normalised exact sum to the code of the result format, and raise the flags."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.engines import Engine
from fp9.formats import FixedFormat
from fp9.formats.policy import CastPolicy
from fp9_rtl.parts.layouts import flags_layout
from fp9_rtl.parts.step import Step
from fp9_rtl.rounding.decision import keeps_nonzero, rounds_up
from fp9_rtl.rounding.facts import SumFacts, can_be_subnormal
from fp9_rtl.rounding.specials import packed_magnitude


def rounder_layout(fmt: FixedFormat, exponents: range, passed: Mapping[str, data.ShapeLike]) -> data.StructLayout:
    return data.StructLayout(
        {
            "significand": fmt.precision,
            "guard": 1,
            "round": 1,
            "sticky": 1,
            "exponent": exponents,
            "zero": 1,
            **passed,
        }
    )


def drive_significand(m: Module, o: data.View[data.StructLayout], significand: Value, below: Value) -> None:
    m.d.comb += [
        o.significand.eq(significand),
        o.guard.eq(below[-1]),
        o.round.eq(below[-2]),
        o.sticky.eq(below[:-2].any()),
    ]


class Round(Step):
    """Round the sum once, then handle overflow, underflow and special results."""

    name = "round"

    def __init__(self, engine: Engine, facts: SumFacts, i: data.StructLayout) -> None:
        self._format = engine.result.format
        self._rounding = engine.result.rounding
        self._policy = CastPolicy(engine.result.rounding, engine.result.overflow)
        self._facts = facts
        self._flushes = engine.result.flush
        self._nans = (engine.nan.code, engine.nan.code if engine.nan.invalid_code is None else engine.nan.invalid_code)
        self._aligned = engine.window.width is not None
        super().__init__(i, data.StructLayout({"result": engine.result.format.bits, "flags": flags_layout()}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, flags = self.i, self.o.flags
        dropped, special, overflow = Signal(), Signal(), Signal()
        m.d.comb += [dropped.eq(i.guard | i.round | i.sticky), special.eq(i.nan | i.inf)]
        cut = i.dropped if self._aligned else Const(0)
        if self._format.subnormals:
            magnitude = self._rounded(m, Mux(i.significand[-1], i.exponent, 0))
            underflow = (self._tiny() & dropped) | self._tiny_and_cut(dropped)
            if self._flushes:
                underflow = self._tiny() & ~i.zero
                magnitude = Mux(underflow, 0, magnitude)
        else:
            rounded = self._rounded(m, i.exponent)
            underflow = (rounded <= 0) & ~i.zero
            magnitude = Mux(i.zero | (rounded <= 0), self._instead_of_zero(), rounded)
        m.d.comb += [
            overflow.eq(magnitude > self._format.max_code if self._facts.overflow else 0),
            flags.inexact.eq((dropped | overflow | underflow | cut) & ~special),
            flags.underflow.eq(underflow & ~special),
            flags.overflow.eq(overflow & ~special),
            flags.invalid.eq(i.invalid),
        ]
        self._pack(m, *self._beyond(magnitude, special, overflow))
        return m

    def _rounded(self, m: Module, exponent: Value) -> Signal:
        # If rounding carries out of the fraction, the exponent increases by 1.
        i = self.i
        up = Signal()
        padding = Const(0, self._format.padding)
        code = Cat(padding, i.significand[:-1], exponent)
        code = code.as_signed() if exponent.shape().signed else code
        step = Cat(padding, up)
        rounded = Signal.like(code + step)
        m.d.comb += [
            up.eq(rounds_up(self._rounding, i.sign, i.significand[0], i.guard, i.round | i.sticky)),
            rounded.eq(code + step),
        ]
        return rounded

    def _tiny(self) -> Value:
        """Return whether the result is below 2^emin after rounding with an unbounded exponent range."""
        if not can_be_subnormal(self._format, self._facts):
            return Const(0)
        i = self.i
        reaches_normal = i.significand[:-1].all() & i.guard & rounds_up(self._rounding, i.sign, 1, i.round, i.sticky)
        return ~i.significand[-1] & ~reaches_normal

    def _tiny_and_cut(self, dropped: Value) -> Value:
        """Return whether a subnormal sum lost bits in the alignment, but none in the rounding."""
        if not self._aligned:
            return Const(0)
        return ~self.i.significand[-1] & ~self.i.zero & self.i.dropped & ~dropped

    def _instead_of_zero(self) -> Value:
        if not any(self._rounding.keeps_nonzero(negative) for negative in (False, True)):
            return Const(0)
        kept = ~self.i.zero & keeps_nonzero(self._rounding, self.i.sign)
        return Mux(kept, self._format.smallest_code, 0)

    def _beyond(self, magnitude: Value, special: Value, overflow: Value) -> tuple[Value, Value]:
        # If the overflow policy saturates, an overflow gives the magnitude code of the largest number.
        positive, negative = (self._policy.saturates(self._format, side) for side in (False, True))
        if not (positive or negative):
            return magnitude, special | overflow
        saturates = Const(1) if positive and negative else self.i.sign ^ positive
        return Mux(overflow & saturates, self._format.max_code, magnitude), special | (overflow & ~saturates)

    def _pack(self, m: Module, magnitude: Value, infinite: Value) -> None:
        fmt, i = self._format, self.i
        code = packed_magnitude(m, fmt, magnitude, i.nan, infinite)
        cancelled = i.zero & i.subtract & ~i.inf
        sign = Mux(cancelled, self._rounding.cancels_to_minus, i.sign) & ~i.nan
        if not fmt.signed_zero:
            sign = sign & (code != 0) & ~infinite
        elif self._aligned:  # an aligned sum is an integer: its zero has no sign
            sign = sign & (code != 0)
        m.d.comb += self.o.result.eq(self._named(Cat(code, sign), infinite))

    def _named(self, code: Value, infinite: Value) -> Value:
        """Replace the format's NaN code by the NaN code of the accumulator model."""
        fmt, i = self._format, self.i
        own = fmt.nan_code(False)
        of_nan, of_invalid = (own if nan is None else nan for nan in self._nans)
        if of_nan == of_invalid == own:
            return code
        is_nan = i.nan if fmt.has_inf else i.nan | infinite
        return Mux(is_nan, Mux(i.invalid, of_invalid, of_nan), code)
