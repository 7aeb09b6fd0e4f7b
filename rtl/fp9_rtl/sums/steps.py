"""The dot engine's step of several products as a chain of steps."""

from __future__ import annotations

from amaranth.lib import data

from fp9.formats import FixedFormat, Rounding
from fp9.units import OPERAND_SIGNIFICAND_BITS, Dot, significand_bits
from fp9_rtl.parts.step import Step
from fp9_rtl.rounding.facts import sum_facts
from fp9_rtl.rounding.rounder import Round
from fp9_rtl.sums import gating, pair
from fp9_rtl.sums.fixed import sum as fixed_point
from fp9_rtl.sums.multiply import DecodeOperands, Multiply
from fp9_rtl.sums.pair import AddPair, AlignPair
from fp9_rtl.sums.terms import NormaliseSum
from fp9_rtl.sums.window import steps as window

DOT_NEEDED = f"an exact engine with a deterministic rounding, or one without int8 and with {window.WINDOW_NEEDED}"


def takes(unit: Dot) -> bool:
    """Whether a unit's step is built here; a single product without a window is that of `fma`."""
    return unit.engine.products > 1 or unit.engine.window is not None


def is_offered(unit: Dot) -> bool:
    """Whether there is hardware for a step of several products, or for a window."""
    return is_pair(unit) or is_fixed_point(unit) or (window.is_offered(unit) and not has_integers(unit))


def is_fixed_point(unit: Dot) -> bool:
    """Whether the sum is exact, over the range of the products."""
    engine = unit.engine.within_chunk
    return engine.products > 1 and engine.is_fused and engine.rounding is not Rounding.SR and not is_pair(unit)


def has_integers(unit: Dot) -> bool:
    """Whether an operand can be an integer, whose products are longer than those that windows are laid out for."""
    return significand_bits((*unit.a, *unit.b)) > OPERAND_SIGNIFICAND_BITS


def is_pair(unit: Dot) -> bool:
    """Whether the sum is that of `pair`, which says why to nearest, and why no product may be subnormal."""
    engine = unit.engine.within_chunk
    fmt = engine.result
    assert isinstance(fmt, FixedFormat)
    return (
        engine.products == 2
        and not has_integers(unit)
        and engine.window is None
        and not engine.whole
        and engine.rounding in (Rounding.RNE, Rounding.RNA)
        and engine.addend_format == fmt
        and sum_facts(unit).products.start >= fmt.min_normal_exponent
    )


def dot_steps(unit: Dot) -> list[Step]:
    """The whole step of a `dot`."""
    products = product_steps(unit, ("c",))
    return [*products, *sum_steps(unit, products[-1].o.shape())]


def product_steps(unit: Dot, passed: tuple[str, ...]) -> list[Step]:
    """From the ports to the exact products, normalised where the sum is exact; the ports in `passed` go beside them.

    Where the addend stays out of a window, to the sum of the products.
    """
    if is_fixed_point(unit):
        return fixed_point.product_steps(unit, passed)
    windowed = unit.engine.window is not None
    decode = DecodeOperands(unit, passed, not windowed)
    multiply = Multiply(unit, sum_facts(unit), decode.o.shape(), passed, not windowed)
    products = gating.product_steps(unit, decode, multiply)
    return [*products, *(window.product_steps(unit, multiply.o.shape(), passed) if windowed else [])]


def sum_steps(unit: Dot, i: data.StructLayout) -> list[Step]:
    """From what `product_steps` gives and `c` to result and flags, in one rounding."""
    if is_fixed_point(unit):
        return fixed_point.sum_steps(unit, i)
    if unit.engine.window is not None:
        return window.sum_steps(unit, i)
    fmt = unit.engine.result
    assert isinstance(fmt, FixedFormat)
    align = AlignPair(fmt, i)
    add = AddPair(fmt, align.o.shape())
    normalise = NormaliseSum(fmt, pair.HEADROOM, add.o.shape())
    return [align, add, normalise, Round(unit.engine, sum_facts(unit), normalise.o.shape())]
