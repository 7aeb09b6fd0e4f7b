"""Bit positions of an exact fixed-point sum, and facts about the rounding of the sum."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fp9.units import Dot, Mac, product_range
from fp9_rtl.rounding.facts import SumFacts, rounds_addend, sum_facts
from fp9_rtl.sums.multiply import operand_offset


@dataclass(frozen=True, slots=True)
class Window:
    """Bit positions of a fixed-point sum. The number e stands for the bit position with the weight 2^e.

    The bits of the products occupy the positions from `ulp` to `top` - 1. The leading bit of the addend is never placed
    above `addend_highest`. If `far` is true, an addend can be too large for the bit positions of the sum. If `cut` is
    true, the addend can have bits below `lowest`, which become one sticky bit.
    """

    lowest: int
    ulp: int
    top: int
    highest: int
    addend_highest: int
    far: bool
    cut: bool

    @property
    def bits(self) -> int:
        return self.highest - self.lowest + 1 + self.cut

    @property
    def bits_below(self) -> int:
        return self.ulp - self.lowest + self.cut

    @property
    def bits_above(self) -> int:
        return max(self.addend_highest - self.top + 1, 0)


def product_bias(unit: Dot) -> int:
    return operand_offset(unit.a) + operand_offset(unit.b) - 1


def window_of(unit: Dot) -> Window:
    products = product_range(unit.a, unit.b, unit.bias_port)
    fmt = unit.engine.addend_format
    top = products.ulp + products.signed_bits(unit.engine.step.products) - 1
    precision = fmt.precision
    quantum = fmt.lowest_exponent - fmt.fraction_bits
    # A far addend is a normal number, and stays normal if the products borrow its leading bit.
    addend_highest = max(min(top + precision + 1, fmt.highest_exponent), fmt.lowest_exponent + 1)
    # The window has guard and sticky bits below the last place of a sum that is at least half the products' last
    # place. If all products are above the result's range, the lowest position is a position of the addend.
    lowest = min(max(products.ulp - precision - 1, min(products.ulp, quantum)), addend_highest)
    far, cut = addend_highest < fmt.highest_exponent, quantum < lowest
    carries = not far and addend_highest >= top
    return Window(lowest, products.ulp, top, max(addend_highest + carries, top), addend_highest, far, cut)


def register_window(unit: Mac) -> Window:
    """Return the bit positions of a Kulisch accumulator's sum. A Kulisch accumulator adds only products, no addend."""
    fmt = unit.engine.result.format
    ulp = product_range(unit.a, unit.b, unit.bias_port).ulp
    top = ulp + unit.sum_bits
    return Window(ulp, ulp, top, max(top - 1, fmt.min_normal_exponent), ulp, far=False, cut=False)


def register_facts(unit: Mac, window: Window) -> SumFacts:
    fmt = unit.engine.result.format
    below_normal = window.lowest < fmt.min_normal_exponent + (not fmt.subnormals)
    return SumFacts(sum_facts(unit).products, below_normal, overflow=window.top > fmt.highest_exponent)


def exact_facts(unit: Dot, window: Window) -> SumFacts:
    """Return whether an exact sum can be subnormal or can overflow when rounded."""
    result = unit.engine.result.format
    below_normal = window.lowest < result.min_normal_exponent + (not result.subnormals)
    alone = rounds_addend(unit.engine) or unit.engine.result.flush
    return replace(sum_facts(unit), below_normal=below_normal or alone)
