"""Shifters for floating-point sums: right shift with sticky bit, and normalising left shift."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from fp9_rtl.parts.select import any_of


def shift_right_sticky(m: Module, value: Value, distance: Value) -> tuple[Value, Value]:
    """Return the shifted value, and a sticky bit: the OR of all lost bits."""
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
    """Return `value` shifted left until its top bit is 1, and the distance."""
    # `limit` is the largest distance. If `limit` is None and `only_last` is 1, the shift is at most one position.
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


def shift_right_narrow(m: Module, value: Value, width: int, distance: Value, name: str) -> tuple[Value, Value]:
    """Return `value`, left-aligned in `width` bits and shifted right by `distance`, and a sticky bit."""
    # The first stage shifts the few bits of `value` by the low bits of the distance. The second stage moves the result
    # by a multiple of a power of two, with AND and OR gates instead of multiplexers.
    fine = min(len(distance), (len(value) - 1).bit_length())
    step = 1 << fine
    moved: Value = value
    for stage in range(fine):
        gap = Const(0, 1 << stage)
        wider = Signal(len(moved) + len(gap), name=f"{name}_by_{len(gap)}")
        m.d.comb += wider.eq(Mux(distance[stage], Cat(moved, gap), Cat(gap, moved)))
        moved = wider
    coarse = distance[fine:]
    places = range(0, width, step)
    placed: list[Value] = []
    lost = Signal(name=f"{name}_lost")
    losses: list[Value] = []
    for index, place in enumerate(places):
        here = Signal(name=f"{name}_to_{place}")
        m.d.comb += here.eq(coarse == index)
        kept = min(len(moved), width - place)
        bits = moved[len(moved) - kept :] & here.replicate(kept)
        placed.append(Cat(Const(0, width - place - kept), bits, Const(0, place)))
        if kept < len(moved):
            losses.append(here & moved[: len(moved) - kept].any())
    beyond = (coarse >= len(places)) & value.any() if len(places) < 1 << len(coarse) else Const(0)
    m.d.comb += lost.eq(any_of([beyond, *losses]))
    result = Signal(width, name=name)
    m.d.comb += result.eq(any_of(placed))
    return result, lost


def shift_left_narrow(m: Module, value: Value, kept: int, furthest: int) -> tuple[Value, Value, Value]:
    """Return the top `kept` bits of the normalised value, a sticky bit of the other bits, and the shift distance."""
    # The left shift is at most `furthest` positions.
    taken: list[Value] = []
    sticky: Value = Const(0, 1)
    bounded: Value = Const(1, 1)
    for stage in reversed(range(furthest.bit_length())):
        step = 1 << stage
        left = max(len(value) - (kept + step - 1), 0)
        moved_left = max(left - step, 0)
        shift = Signal(name=f"normalise_by_{step}")
        moved = Signal(len(value) - left, name=f"normalised_by_{step}")
        lost = Signal(name=f"lost_by_{step}")
        empty = ~value[-step:].any()
        m.d.comb += [
            shift.eq(empty if furthest & step else empty & ~bounded),
            moved.eq(Mux(shift, Cat(Const(0, step), value)[left : len(value)], value[left:])),
            lost.eq(sticky | value[:moved_left].any() | (value[moved_left:left].any() & ~shift)),
        ]
        bounded = bounded & shift if furthest & step else bounded
        value, sticky = moved, lost
        taken.insert(0, shift)
    return value[-kept:], sticky | value[:-kept].any(), Cat(*taken)
