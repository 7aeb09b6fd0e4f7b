"""The places of an exact sum in fixed point, and what they prove about its rounding; `sum` has the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fp9.units import Dot, Mac, product_range
from fp9_rtl.rounding.facts import SumFacts, rounds_addend, sum_facts
from fp9_rtl.sums.multiply import operand_offset


@dataclass(frozen=True, slots=True)
class Window:
    """The places of a sum, by their exponents; the field is those from `ulp` to before `top`.

    The addend's first bit stands at `addend_highest` at most. `far`: it can be above that; `cut`: it can reach below
    `lowest`, and a sticky bit stands behind the window.
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
        """Bits of the window, a sticky one included."""
        return self.highest - self.lowest + 1 + self.cut

    @property
    def bits_below(self) -> int:
        """Bits below the field, a sticky one included."""
        return self.ulp - self.lowest + self.cut

    @property
    def bits_above(self) -> int:
        """Bits of the addend above the field."""
        return max(self.addend_highest - self.top + 1, 0)


def product_bias(unit: Dot) -> int:
    """The bias on whose scale the products' exponents are the plain sums of the decoders' ones."""
    return operand_offset(unit.a) + operand_offset(unit.b) - 1


def window_of(unit: Dot) -> Window:
    """The window of the exact sums of a `dot`."""
    products = product_range(unit.a, unit.b, unit.bias_port)
    fmt = unit.engine.addend_format
    top = products.ulp + products.signed_bits(unit.engine.products) - 1
    precision = fmt.precision
    quantum = fmt.lowest_exponent - fmt.fraction_bits
    # A far addend is a normal number, and remains one if the products take its leading bit.
    addend_highest = max(min(top + precision + 1, fmt.highest_exponent), fmt.lowest_exponent + 1)
    # Guard and sticky below the last place of a sum that is no less than half the products' last place; where all
    # products are above the result's range, a place of the addend.
    lowest = min(max(products.ulp - precision - 1, min(products.ulp, quantum)), addend_highest)
    far, cut = addend_highest < fmt.highest_exponent, quantum < lowest
    carries = not far and addend_highest >= top
    return Window(lowest, products.ulp, top, max(addend_highest + carries, top), addend_highest, far, cut)


def register_window(unit: Mac) -> Window:
    """The places of a Kulisch accumulator's sum, which no addend meets."""
    fmt = unit.engine.result
    ulp = product_range(unit.a, unit.b, unit.bias_port).ulp
    top = ulp + unit.sum_bits
    return Window(ulp, ulp, top, max(top - 1, fmt.min_normal_exponent), ulp, far=False, cut=False)


def register_facts(unit: Mac, window: Window) -> SumFacts:
    """What the rounder of a Kulisch accumulator need not build: its sums fill the register, whatever the products."""
    fmt = unit.engine.result
    below_normal = window.lowest < fmt.min_normal_exponent + (not fmt.subnormals)
    return SumFacts(sum_facts(unit).products, below_normal, overflow=window.top > fmt.highest_exponent)


def exact_facts(unit: Dot, window: Window) -> SumFacts:
    """What the rounder need not build: sums are multiples of the window's last place, or the addend alone."""
    result = unit.engine.result
    below_normal = window.lowest < result.min_normal_exponent + (not result.subnormals)
    alone = rounds_addend(unit.engine) or unit.engine.flush_result
    return replace(sum_facts(unit), below_normal=below_normal or alone)
