"""Round the kept bits of a cast in the rounding mode that the operation selects."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.formats import Rounding
from fp9.formats.rounding import Overflow
from fp9.units import Cast
from fp9_rtl.parts.select import switch
from fp9_rtl.parts.step import Step, forward
from fp9_rtl.rounding.decision import keeps_nonzero, rounds_up, rounds_up_at_random
from fp9_rtl.rounding.hybrid import hybrid_up


class RoundKept(Step):
    """Round the kept bits, adjust the exponent after a carry, and report whether the result is inexact.

    The output `tiny` is 1 if the operand's magnitude, rounded to the precision of normal numbers, is below the smallest
    normal number. The output `away` is 1 if, for the operand's sign, the rounding mode never rounds a non-zero number
    to zero. The output `toward_zero` is 1 if, for the operand's sign, the rounding mode always rounds toward zero.
    """

    name = "round"

    def __init__(self, unit: Cast, i: data.StructLayout) -> None:
        self._roundings = unit.roundings
        self._passed = (
            "normal",
            "sign",
            "zero",
            "inf",
            "nan",
            *(name for name in ("target", "overflow") if name in i.members),
        )
        exponents = i["exponent"].shape
        o = {
            "kept": i["kept"].width + 1,
            "exponent": range(exponents.start, exponents.stop + 1),
            "inexact": 1,
            "tiny": 1,
            "away": 1,
            **({"toward_zero": 1} if Overflow.DIRECTED in unit.overflow else {}),
        }
        super().__init__(i, data.StructLayout({**o, **{name: i[name].shape for name in self._passed}}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        up, reaches_normal = Signal(), Signal()
        near_last = i.near_last if "near_last" in i.shape().members else Const(1)
        select = i.rounding if len(self._roundings) > 1 else Const(0, 0)
        for rounding in switch(m, select, self._roundings):
            m.d.comb += [
                up.eq(self._up(rounding, i.last, i.tail, i.sticky)),
                reaches_normal.eq(i.near_normal & self._up(rounding, near_last, i.near_tail, i.near_sticky)),
                o.away.eq(keeps_nonzero(rounding, i.sign)),
            ]
            if "toward_zero" in o.shape().members:
                positive, negative = (rounding.moves_toward_zero(side) for side in (False, True))
                m.d.comb += o.toward_zero.eq(Mux(i.sign, negative, positive))
        m.d.comb += [
            o.kept.eq(self._rounded(up)),
            o.exponent.eq(i.exponent + (up & i.all_ones)),
            o.inexact.eq(i.tail.any() | i.sticky | up),
            o.tiny.eq(~i.normal & ~reaches_normal),
        ]
        forward(m, i, o, *self._passed)
        return m

    def _rounded(self, up: Value) -> Value:
        return self.i.kept + up

    def _up(self, rounding: Rounding, last: Value, tail: Value, sticky: Value) -> Value:
        if rounding is Rounding.HYBRID:
            return hybrid_up(self.i.hybrid, tail, self.i.threshold)
        if rounding is Rounding.SR:
            return rounds_up_at_random(tail, self.i.random)
        return rounds_up(rounding, self.i.sign, last, tail[-1], tail[:-1].any() | sticky)
