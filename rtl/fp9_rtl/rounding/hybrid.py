"""Decide whether a magnitude rounds up in HiFloat8's hybrid rounding.

Near 1 (exponents -3 to 3), hybrid rounding rounds to nearest, with ties away from zero. For all other exponents, hybrid
rounding compares a fraction F with a threshold T. The fraction F consists of the dropped bits just below the last kept
bit. The threshold T is not random: it consists of the lowest bits of the number before rounding. The magnitude rounds
up if F is at least T (HiF8 section 3, CANN `Cast`).
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import data

from fp9.formats import Format, HiFloat8
from fp9.units import Cast

HYBRID_ZONES = data.StructLayout({"nearest": 1, "certain": 1, "never": 1})
"""Ranges of numbers for which the threshold does not decide.

In the range `nearest`, ties round away from zero. In the range `certain`, the upper half of the top binade, every
number rounds up. In the range `never`, far below the smallest number, no number rounds up.
"""


def hybrid_bits(unit: Cast) -> int:
    """Return the width of the threshold T of hybrid rounding, or 0 for a unit without hybrid rounding."""
    if not any(mode.reads_source for mode in unit.roundings):
        return 0
    return sum(HiFloat8.threshold_bits(unit.source))


def hybrid_threshold(source: Format, code: Value, width: int) -> Value:
    """Return the threshold T with `width` bits.

    The threshold T consists of the lowest bits of the source number, followed by ones in the lowest places.
    `HiFloat8.threshold_bits` gives both numbers of bits.
    """
    if not width:
        return Const(0, 0)
    read, ones = HiFloat8.threshold_bits(source)
    return Cat(Const((1 << ones) - 1, ones), code[:read])


def hybrid_up(zones: data.View[data.StructLayout], tail: Value, threshold: Value) -> Value:
    """Return whether a magnitude rounds up in hybrid rounding.

    If the threshold T is 0, hybrid rounding rounds up even an exact number.
    """
    guard = tail[-1]
    drawn = (tail[len(tail) - len(threshold) :] >= threshold) | (zones.certain & guard)
    return (zones.nearest & guard) | (~zones.nearest & ~zones.never & drawn)
