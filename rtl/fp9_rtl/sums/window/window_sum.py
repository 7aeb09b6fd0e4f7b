"""Build the datapath of an accumulator with an addition window."""

from __future__ import annotations

from dataclasses import replace

from amaranth.lib import data

from fp9.engines import Addend, Truncation
from fp9.units import Dot, product_range
from fp9_rtl.parts.condition import Circuits, Condition
from fp9_rtl.parts.step import Beside, Step
from fp9_rtl.rounding.facts import SumFacts, sum_facts
from fp9_rtl.rounding.rounder import Round
from fp9_rtl.sums.adder import addition
from fp9_rtl.sums.terms import NormaliseSum
from fp9_rtl.sums.window.align import AddWindow, AlignWindow, carry_places, headroom
from fp9_rtl.sums.window.interleaved import AddAddend, AddHalves, AlignHalves, NormaliseFloor
from fp9_rtl.sums.window.separate_addend import CutAddend, normalised_products

CIRCUITS = (
    Circuits(
        "a window with engine.window.addend = aligned",
        Dot,
        (
            Condition(
                "engine.window.truncation",
                lambda _, value: value is Truncation.ZERO,
                "zero, or engine.window.addend = inside or outside",
                "the circuit truncates the addend after the products; floor or jam needs another row of the sum, and "
                "no preset uses it",
            ),
        ),
        lambda unit: _has_window(unit) and unit.engine.window.addend is Addend.ALIGNED,
    ),
    Circuits(
        "a window with engine.window.interleaved",
        Dot,
        (
            Condition(
                "engine.result.rounding",
                lambda _, value: value.is_nearest,
                "rne or rna",
                "rounding in a direction would need the bits that the floor of the joined sum drops",
            ),
            Condition(
                "engine.result.format",
                lambda _, value: value.subnormals,
                "a format with subnormal numbers, such as fp32",
                "the circuit shifts a joined sum below the normal range to a subnormal number, and never flushes it",
            ),
            Condition(
                "engine.window.interleaved",
                lambda unit, value: value >= unit.engine.result.format.fraction_bits + 2,
                "two fraction bits more than engine.result.format has, or more",
                "rounding to nearest reads a guard bit and one bit below it",
            ),
        ),
        lambda unit: _has_window(unit) and unit.engine.window.interleaved is not None,
    ),
)


def _has_window(unit: Dot) -> bool:
    return unit.engine.window.width is not None and unit.scale is None


def product_steps(unit: Dot, i: data.StructLayout, passed: tuple[str, ...]) -> list[Step]:
    """Return the stages that sum the products, or none if one stage adds products and addend."""
    if unit.engine.window.interleaved is not None:
        align = AlignHalves(unit, i, passed)
        return [align, AddHalves(unit, align.o.shape(), passed)]
    if unit.engine.window.addend is not Addend.INSIDE:
        return normalised_products(unit, i, passed)
    return []


def sum_steps(unit: Dot, i: data.StructLayout) -> list[Step]:
    if unit.engine.window.interleaved is not None:
        return _interleaved_steps(unit, i)
    if unit.engine.window.addend is not Addend.INSIDE:
        return _beside_steps(unit, i)
    fmt = unit.engine.result.format
    align = AlignWindow(unit, i)
    places = headroom(unit, align.ranks)
    add = AddWindow(unit, places, align.o.shape())
    normalise = NormaliseSum(fmt, places, add.o.shape(), "dropped")
    return [align, add, normalise, Round(unit.engine, _facts(unit), normalise.o.shape())]


def _facts(unit: Dot) -> SumFacts:
    # If products have scales, every sum can be subnormal and can overflow.
    facts = sum_facts(unit)
    return facts if unit.scale is None else replace(facts, below_normal=True, overflow=True)


def _beside_steps(unit: Dot, i: data.StructLayout) -> list[Step]:
    facts = sum_facts(unit)
    cut: list[Step] = [CutAddend(unit, i)] if unit.engine.window.addend is Addend.ALIGNED else []
    beside = {"dropped": 1}
    terms = cut[-1].o.shape() if cut else i
    added = addition(unit.engine, facts, data.StructLayout({name: terms[name].shape for name in ("product", "c")}))
    steps = [Beside(step, beside) for step in added]
    return [*cut, *steps, Round(unit.engine, facts, steps[-1].o.shape())]


def _interleaved_steps(unit: Dot, i: data.StructLayout) -> list[Step]:
    fmt, addend = unit.engine.result.format, unit.engine.addend_format
    assert unit.engine.window.interleaved is not None
    ulp = min(product_range(unit.a, unit.b, unit.bias_port).ulp, addend.quantum(addend.min_normal_exponent))
    add = AddAddend(unit, i)
    normalise = NormaliseFloor(fmt, carry_places(unit), add.o.shape(), unit.engine.window.interleaved, ulp)
    return [add, normalise, Round(unit.engine, sum_facts(unit), normalise.o.shape())]
