"""Decide whether a magnitude rounds up in HiFloat8's hybrid rounding (HiF8 section 3, CANN `Cast`)."""

# For exponents -3 to 3, hybrid rounding rounds to nearest, with ties away from zero. Otherwise it compares a fraction
# F, the dropped bits just below the last kept bit, with a threshold T. The threshold T is not random: it consists of
# the lowest bits of the number before rounding. The magnitude rounds up if F is at least T.

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import data

from fp9.formats import Format, HiFloat8
from fp9.units import Cast

HYBRID_ZONES = data.StructLayout({"nearest": 1, "certain": 1, "never": 1})
"""Ranges of numbers for which the threshold does not decide.

In `nearest`, ties round away from zero. In `certain`, the upper half of the top binade, every number rounds up. In
`never`, far below the smallest number, no number rounds up.
"""


def hybrid_bits(unit: Cast) -> int:
    """Return the width of the threshold T, or 0 for a unit without hybrid rounding."""
    if not any(mode.reads_source for mode in unit.roundings):
        return 0
    return sum(HiFloat8.threshold_bits(unit.source))


def hybrid_threshold(source: Format, code: Value, width: int) -> Value:
    if not width:
        return Const(0, 0)
    read, ones = HiFloat8.threshold_bits(source)
    return Cat(Const((1 << ones) - 1, ones), code[:read])


def hybrid_up(zones: data.View[data.StructLayout], tail: Value, threshold: Value) -> Value:
    # If the threshold is 0, even an exactly representable magnitude rounds up.
    guard = tail[-1]
    drawn = (tail[len(tail) - len(threshold) :] >= threshold) | (zones.certain & guard)
    return (zones.nearest & guard) | (~zones.nearest & ~zones.never & drawn)
