"""HiFloat8's hybrid rounding: to nearest near 1, elsewhere by a threshold taken from the source's own bits.

Near 1 (|E| < 4) ties go away. Elsewhere the tail F, the bits just below the kept ones, is compared with a threshold T
from the end of the source, as if that were random: up when F >= T (HiF8 section 3, CANN `Cast`).
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value
from amaranth.lib import data

from fp9.formats import Rounding
from fp9.units import Cast

STOCHASTIC_FROM = 4
"""Least magnitude of an exponent at which the threshold decides."""

HYBRID_ZONES = data.StructLayout({"nearest": 1, "certain": 1, "never": 1})
"""Where the threshold does not decide: ties away; the top binade's upper half goes up; far below zero stays."""


def hybrid_bits(unit: Cast) -> int:
    """Width of F and T: 14 from 32-bit sources, 2 from 16-bit ones, none where hybrid rounding is not offered."""
    if Rounding.HYBRID not in unit.roundings:
        return 0
    return 14 if unit.source.bits == 32 else 2


def hybrid_threshold(source: Value, width: int) -> Value:
    """T: the low bits of a 32-bit source; {src[0], 1} of a 16-bit one."""
    if not width:
        return Const(0, 0)
    return source[:width] if len(source) == 32 else Cat(Const(1, 1), source[0])


def hybrid_up(zones: data.View[data.StructLayout], tail: Value, threshold: Value) -> Value:
    """Whether the magnitude becomes the next one above; from an exact number, too, where T is 0."""
    guard = tail[-1]
    drawn = (tail[len(tail) - len(threshold) :] >= threshold) | (zones.certain & guard)
    return (zones.nearest & guard) | (~zones.nearest & ~zones.never & drawn)
