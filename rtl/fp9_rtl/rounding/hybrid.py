"""HiFloat8's hybrid rounding: to nearest near 1, elsewhere by a threshold from the source's own bits.

Near 1 (|E| < 4) ties round away. Elsewhere the tail F, the bits just below the kept ones, is compared with a
threshold T. T is read from the last bits of the source and acts as a random number: F >= T rounds up (HiF8 section
3, CANN `Cast`).
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import data

from fp9.formats import Format, HiFloat8
from fp9.units import Cast

HYBRID_ZONES = data.StructLayout({"nearest": 1, "certain": 1, "never": 1})
"""Ranges where the threshold does not decide: `nearest` rounds ties away, `certain` (upper half of the top binade)
rounds up, and `never` (far below the smallest number) does not round up.
"""


def hybrid_bits(unit: Cast) -> int:
    """Return the width of F and T; 0 if the unit does not offer hybrid rounding."""
    if not any(mode.reads_source for mode in unit.roundings):
        return 0
    return sum(HiFloat8.threshold_bits(unit.source))


def hybrid_threshold(source: Format, code: Value, width: int) -> Value:
    """Return T, `width` bits: the bits that `threshold_bits` reads from a source's code, with ones below them."""
    if not width:
        return Const(0, 0)
    read, ones = HiFloat8.threshold_bits(source)
    return Cat(Const((1 << ones) - 1, ones), code[:read])


def hybrid_up(zones: data.View[data.StructLayout], tail: Value, threshold: Value) -> Value:
    """Return whether the magnitude rounds up; if T is 0, an exact number rounds up, too."""
    guard = tail[-1]
    drawn = (tail[len(tail) - len(threshold) :] >= threshold) | (zones.certain & guard)
    return (zones.nearest & guard) | (~zones.nearest & ~zones.never & drawn)
