"""The multiply-add datapath as a chain of steps, for `fma` and for the two halves of `mac`."""

from __future__ import annotations

from amaranth.lib import data

from fp9.formats import FixedFormat
from fp9.units import Dot, Fma, Mac
from fp9_rtl.parts.step import Step
from fp9_rtl.rounding.facts import sum_facts
from fp9_rtl.rounding.rounder import Round
from fp9_rtl.sums import gating
from fp9_rtl.sums.adder import Add, Align, Normalise
from fp9_rtl.sums.multiply import DecodeOperands, Multiply


def product_steps(unit: Dot, passed: tuple[str, ...]) -> list[Step]:
    """From the ports to the exact product; the ports named in `passed` go beside it."""
    decode = DecodeOperands(unit, passed)
    return gating.product_steps(unit, decode, Multiply(unit, sum_facts(unit), decode.o.shape(), passed))


def sum_steps(unit: Fma | Mac, i: data.StructLayout) -> list[Step]:
    """From fields `product` and `c` of layout `i` to result and flags."""
    fmt, facts = unit.engine.result, sum_facts(unit)
    assert isinstance(fmt, FixedFormat)
    addend = unit.engine.addend_format
    assert isinstance(addend, FixedFormat)
    align = Align(addend, facts, i)
    add = Add(fmt, facts, align.o.shape())
    normalise = Normalise(fmt, facts, add.o.shape())
    return [align, add, normalise, Round(unit.engine, facts, normalise.o.shape())]


def fma_steps(unit: Fma) -> list[Step]:
    """The whole multiply-add."""
    product = product_steps(unit, ("c",))
    return [*product, *sum_steps(unit, product[-1].o.shape())]
