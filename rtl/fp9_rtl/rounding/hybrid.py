"""HiFloat8's hybrid rounding: to nearest near 1, elsewhere by a threshold taken from the source's own bits.

Near 1 (|E| < 4) ties go away. Elsewhere the tail F, the bits just below the kept ones, is compared with a threshold T
from the end of the source, as if that were random: up when F >= T (HiF8 section 3, CANN `Cast`).
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import data

from fp9.formats import Format, HiFloat8
from fp9.units import Cast

HYBRID_ZONES = data.StructLayout({"nearest": 1, "certain": 1, "never": 1})
"""Where the threshold does not decide: ties away; the top binade's upper half goes up; far below zero stays."""


def hybrid_bits(unit: Cast) -> int:
    """Width of F and T, none where hybrid rounding is not offered."""
    if not any(mode.reads_source for mode in unit.roundings):
        return 0
    return sum(HiFloat8.threshold_bits(unit.source))


def hybrid_threshold(source: Format, code: Value, width: int) -> Value:
    """T, of so many bits: what `threshold_bits` reads of a source's code, ones below it."""
    if not width:
        return Const(0, 0)
    read, ones = HiFloat8.threshold_bits(source)
    return Cat(Const((1 << ones) - 1, ones), code[:read])


def hybrid_up(zones: data.View[data.StructLayout], tail: Value, threshold: Value) -> Value:
    """Whether the magnitude becomes the next one above; from an exact number, too, where T is 0."""
    guard = tail[-1]
    drawn = (tail[len(tail) - len(threshold) :] >= threshold) | (zones.certain & guard)
    return (zones.nearest & guard) | (~zones.nearest & ~zones.never & drawn)
