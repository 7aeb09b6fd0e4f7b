"""Encode the result of a cast as a number or as a special code."""

from __future__ import annotations

from fractions import Fraction

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import FixedFormat, Format, Specials
from fp9.formats.rounding import NanSign, Overflow
from fp9.units import Cast
from fp9_rtl.casts.target import CastTarget
from fp9_rtl.parts.layouts import flags_layout
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step


def _nans(unit: Cast, target: Format) -> tuple[int, int]:
    policy = unit.policy(target, unit.roundings[0], unit.overflow[0])
    return policy.nan_code(target, True) or 0, policy.nan_code(target, False) or 0


class Encode(Step):
    """Encode the result and raise the flags.

    | source or result    | saturate                 | inf                      | flags              |
    |---------------------|--------------------------|--------------------------|--------------------|
    | NaN                 | NaN                      | NaN                      |                    |
    | infinity            | largest; NaN if at "-0"  | infinity, NaN without    | invalid unless inf |
    | above the largest   | largest                  | infinity, NaN without    | overflow, inexact  |

    Unlike the overflow policy `inf`, the policy `directed` saturates numbers above the largest number if the rounding
    mode rounds them toward zero.
    """

    name = "encode"

    def __init__(self, unit: Cast, targets: list[CastTarget], i: data.StructLayout) -> None:
        self._targets = targets
        self._policies, self._nan_sign, self._finite = unit.overflow, unit.nan_sign, unit.finite_only
        self._nans = {target.format: _nans(unit, target.format) for target in targets}
        super().__init__(i, data.StructLayout({"result": max(t.format.bits for t in targets), "flags": flags_layout()}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, flags = self.i, self.o.flags
        saturates = Signal()
        for policy in switch(m, i.overflow if len(self._policies) > 1 else Const(0, 0), self._policies):
            directed = policy is Overflow.DIRECTED
            m.d.comb += saturates.eq(i.toward_zero & ~i.inf if directed else policy is Overflow.SATURATE)
        finite, overflow, flushed, infinite = Signal(), Signal(), Signal(), Signal()
        loses_nan = Signal()
        for target in switch(m, i.target if len(self._targets) > 1 else Const(0, 0), self._targets):
            self._encode(m, target, saturates, overflow, flushed, infinite)
            m.d.comb += loses_nan.eq(not (self._finite or target.format.has_nan))
        m.d.comb += [
            finite.eq(~(i.zero | i.inf | i.nan)),
            flags.inexact.eq(finite & (i.inexact | flushed | overflow)),
            flags.underflow.eq(finite & (flushed | (i.tiny & i.inexact))),
            flags.overflow.eq(finite & overflow),
            flags.invalid.eq((i.inf & ~i.nan & ~infinite) | (i.nan & loses_nan)),
        ]
        return m

    def _encode(
        self, m: Module, target: CastTarget, saturates: Signal, overflow: Signal, flushed: Signal, infinite: Signal
    ) -> None:
        i, fmt = self.i, target.format
        finite, too_large = target.encode(m, i.exponent, i.kept, i.normal)
        if not target.has_subnormals:
            m.d.comb += flushed.eq(~i.normal | ((finite == 0) & ~too_large))
            finite = Mux(flushed, i.away, finite)
        m.d.comb += [
            overflow.eq(too_large & ~i.zero),
            infinite.eq(~saturates & fmt.has_inf),
        ]
        beyond = i.inf | overflow
        nan_at_zero = isinstance(fmt, FixedFormat) and fmt.specials is Specials.NEGATIVE_ZERO
        nan = i.nan | (beyond & ~saturates & (not fmt.has_inf)) | (i.inf & nan_at_zero)
        magnitude = Mux(i.zero, 0, finite)[: fmt.bits - 1]
        limit = Mux(infinite, fmt.inf_code(False) or 0, fmt.max_code)[: fmt.bits - 1]
        one_zero = fmt.code_of(Fraction(0), negative=True) == 0
        with m.If(nan):
            m.d.comb += self.o.result.eq(Mux(self._sign_of_nan(), *self._nans[fmt]))
        with m.Elif(beyond):
            m.d.comb += self.o.result.eq(Cat(limit, i.sign))
        with m.Else():
            m.d.comb += self.o.result.eq(Cat(magnitude, i.sign & (magnitude.any() if one_zero else 1)))

    def _sign_of_nan(self) -> Value:
        match self._nan_sign:
            case NanSign.KEPT:
                return self.i.sign
            case NanSign.OVERFLOW:
                return self.i.sign & ~self.i.nan
            case NanSign.LOST:
                return Const(0)
