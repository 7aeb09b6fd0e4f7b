"""Shifters of a floating-point adder: right with the lost bits folded into one, left until the leading bit is 1."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value


def shift_right_sticky(m: Module, value: Value, distance: Value) -> tuple[Value, Value]:
    """`value` moved right by `distance`, and whether any bit that left was 1; far distances leave nothing."""
    stages = min((len(value) - 1).bit_length(), len(distance))
    shifted, sticky = value, Const(0, 1)
    for stage in reversed(range(stages)):
        taken, step = distance[stage], 1 << stage
        moved = Signal(len(value), name=f"shifted_by_{step}")
        lost = Signal(name=f"lost_by_{step}")
        m.d.comb += [
            moved.eq(Mux(taken, shifted[step:], shifted)),
            lost.eq(sticky | (taken & shifted[:step].any())),
        ]
        shifted, sticky = moved, lost
    far = distance[stages:].any()
    return shifted & ~far.replicate(len(value)), Mux(far, value.any(), sticky)


def shift_left_normalising(m: Module, value: Value, limit: Value | None, only_last: Value) -> tuple[Value, Value]:
    """`value` moved left until its top bit is 1, and by how much: at most by `limit`, where one is given.

    Without a limit, `only_last` holds the shift to a single place (for a value that must keep its leading zeros).
    """
    if limit is not None:
        return _limited(m, value, limit)
    stages = (len(value) - 1).bit_length()
    taken: list[Value] = []
    shifted = value
    for stage in reversed(range(stages)):
        step = 1 << stage
        shift = Signal(name=f"normalise_by_{step}")
        moved = Signal(len(value), name=f"normalised_by_{step}")
        empty = ~shifted[-step:].any()
        m.d.comb += [
            shift.eq(empty if stage == 0 else empty & ~only_last),
            moved.eq(Mux(shift, shifted << step, shifted)),
        ]
        shifted = moved
        taken.insert(0, shift)
    return shifted, Cat(*taken)


def _limited(m: Module, value: Value, limit: Value) -> tuple[Value, Value]:
    zeros = Signal(range(len(value) + 1))
    m.d.comb += zeros.eq(len(value))
    for position in range(len(value)):
        with m.If(value[position]):
            m.d.comb += zeros.eq(len(value) - 1 - position)
    shift = Signal.like(zeros)
    shifted = Signal(len(value))
    m.d.comb += [shift.eq(Mux(limit < zeros, limit, zeros)), shifted.eq(value << shift)]
    return shifted, shift
