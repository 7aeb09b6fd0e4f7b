"""HiFloat8's hybrid rounding. Near 1 it rounds to nearest; elsewhere it uses a threshold from the source's own bits.

Near 1 (|E| < 4) ties round away. Elsewhere the tail F, the bits just below the kept bits, is compared with a
threshold T. T consists of the last bits of the source and acts as a random number. The magnitude rounds up if F >=
T (HiF8 section 3, CANN `Cast`).
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import data

from fp9.formats import Format, HiFloat8
from fp9.units import Cast

HYBRID_ZONES = data.StructLayout({"nearest": 1, "certain": 1, "never": 1})
"""Ranges of numbers for which the threshold does not decide.

In the range `nearest`, ties round away. In `certain`, the upper half of the top binade, every number rounds up. In
`never`, far below the smallest number, no number rounds up.
"""


def hybrid_bits(unit: Cast) -> int:
    """Return the number of bits in F and in T. Return 0 if the unit does not support hybrid rounding."""
    if not any(mode.reads_source for mode in unit.roundings):
        return 0
    return sum(HiFloat8.threshold_bits(unit.source))


def hybrid_threshold(source: Format, code: Value, width: int) -> Value:
    """Return the threshold T of `width` bits. It has the source bits given by `threshold_bits`, and ones below them."""
    if not width:
        return Const(0, 0)
    read, ones = HiFloat8.threshold_bits(source)
    return Cat(Const((1 << ones) - 1, ones), code[:read])


def hybrid_up(zones: data.View[data.StructLayout], tail: Value, threshold: Value) -> Value:
    """Return whether the magnitude rounds up. If T is 0, even an exact number rounds up."""
    guard = tail[-1]
    drawn = (tail[len(tail) - len(threshold) :] >= threshold) | (zones.certain & guard)
    return (zones.nearest & guard) | (~zones.nearest & ~zones.never & drawn)
