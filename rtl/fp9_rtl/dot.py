"""The dot engine's step of several products as a chain of steps."""

from __future__ import annotations

from amaranth.lib import data

from fp9.formats import FixedFormat, Rounding
from fp9.units import Dot
from fp9_rtl.facts import sum_facts
from fp9_rtl.fma import product_steps
from fp9_rtl.pair import HEADROOM, AddPair, AlignPair
from fp9_rtl.rounder import Round
from fp9_rtl.step import Step
from fp9_rtl.terms import NormaliseSum

PAIR_NEEDED = "an exact engine of two products that rounds to nearest, to numbers below which no product lies"


def is_pair(unit: Dot) -> bool:
    """Whether the exact sum of a pair is offered; `pair` says why to nearest, and why no product may be subnormal."""
    engine = unit.engine
    fmt = engine.result
    return (
        engine.products == 2
        and engine.is_fused
        and engine.rounding in (Rounding.RNE, Rounding.RNA)
        and engine.addend_format == fmt
        and isinstance(fmt, FixedFormat)
        and sum_facts(unit).products.start >= fmt.min_normal_exponent
    )


def dot_steps(unit: Dot) -> list[Step]:
    """The whole step of a `dot`."""
    products = product_steps(unit, ("c",))
    return [*products, *pair_steps(unit, products[-1].o.shape())]


def pair_steps(unit: Dot, i: data.StructLayout) -> list[Step]:
    """From two products and `c` to result and flags: exact but for one rounding, to nearest."""
    fmt = unit.engine.result
    assert isinstance(fmt, FixedFormat)
    align = AlignPair(unit, i)
    add = AddPair(fmt, align.o.shape())
    normalise = NormaliseSum(fmt, HEADROOM, add.o.shape())
    return [align, add, normalise, Round(unit.engine, sum_facts(unit), normalise.o.shape())]
