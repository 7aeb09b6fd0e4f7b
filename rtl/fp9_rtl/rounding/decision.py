"""Decide whether a magnitude rounds up, in all rounding modes except HiFloat8's hybrid mode."""

from __future__ import annotations

from amaranth.hdl import Const, Value, ValueLike

from fp9.formats import Rounding


def rounds_up_at_random(tail: Value, random: Value) -> Value:
    # Stochastic rounding (numerics.md) adds a random integer to the dropped bits, and rounds up on a carry. The circuit
    # detects the carry by a comparison: the dropped bits must exceed the inverted random bits. If more bits are dropped
    # than there are random bits, the lowest dropped bits are ignored.
    return tail[len(tail) - len(random) :] > ~random


def rounds_up(rounding: Rounding, sign: ValueLike, last: ValueLike, guard: ValueLike, sticky: ValueLike) -> Value:
    # `last` is the last kept bit, `guard` is the first dropped bit, and `sticky` is 1 if any later bit is 1.
    #
    # | guard sticky | rne  | rna | rtz | rup      | rdn      | rto   |
    # |--------------|------|-----|-----|----------|----------|-------|
    # | 0 0          | 0    | 0   | 0   | 0        | 0        | 0     |
    # | 0 1          | 0    | 0   | 0   | positive | negative | ~last |
    # | 1 0          | last | 1   | 0   | positive | negative | ~last |
    # | 1 1          | 1    | 1   | 0   | positive | negative | ~last |
    sign, last, guard, sticky = (Value.cast(bit) for bit in (sign, last, guard, sticky))
    match rounding:
        case Rounding.RNE:
            return guard & (last | sticky)
        case Rounding.RNA:
            return guard
        case Rounding.RTZ:
            return Const(0)
        case Rounding.RUP:
            return (guard | sticky) & ~sign
        case Rounding.RDN:
            return (guard | sticky) & sign
        case Rounding.RTO:
            return (guard | sticky) & ~last
        case _:
            raise ValueError(f"rounding {rounding.value} needs more than guard and sticky")


def keeps_nonzero(rounding: Rounding, sign: Value) -> Value:
    positive, negative = (rounding.keeps_nonzero(side) for side in (False, True))
    if positive == negative:
        return Const(positive)
    return sign if negative else ~sign
