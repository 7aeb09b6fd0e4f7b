"""Facts about a unit's sums, derived from its operand ranges. Each fact removes hardware from later stages."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.engines import Engine, Truncation
from fp9.formats import FixedFormat, Rounding, floor_log2
from fp9.units import Dot, exponent_range, product_range


@dataclass(frozen=True, slots=True)
class SumFacts:
    """Facts about the rounded sum of the products and the addend c.

    `products` is the range of exponents that the leading bit of a non-zero product can have. `below_normal` means
    that a sum with a non-zero product can be below the result's normal numbers. For example, the products may
    cancel, so that the sum is c. `overflow` means that a finite sum can round to more than the largest number.
    """

    products: range
    below_normal: bool
    overflow: bool


def sum_facts(unit: Dot) -> SumFacts:
    """Return facts about one step of an `fma`, `dot` or `mac`. If the engine has chunks, the facts hold within a
    chunk.
    """
    a_low, a_high = exponent_range(unit.a, unit.bias_port)
    b_low, b_high = exponent_range(unit.b, unit.bias_port)
    products = range(a_low + b_low, a_high + b_high + 2)
    product_ulp = product_range(unit.a, unit.b, unit.bias_port).ulp
    return _facts(unit.engine.within_chunk, products, product_ulp)


def join_facts(engine: Engine) -> SumFacts:
    """Return facts about the sum of a chunk and the total. The chunk takes the role of the products."""
    chunk = engine.result.format
    smallest = floor_log2(chunk.value_of(chunk.smallest_code))
    exponents = range(smallest, chunk.highest_exponent + 1)
    return _facts(engine.joining, exponents, chunk.quantum(smallest))


def _facts(engine: Engine, products: range, product_ulp: int) -> SumFacts:
    """Return facts about the sums of an engine. Products are multiples of 2^product_ulp."""
    result, addend = engine.result.format, engine.addend_format
    # A sum that does not cancel is at least the product; one that cancels is a multiple of both terms' last places,
    # and the addend's is then within its precision of the product's exponent.
    smallest_sum = min(product_ulp, products[0] - 1 - addend.fraction_bits)
    # To nearest and toward zero the largest number stays where it is while the product is below half its ulp.
    half_ulp = result.highest_exponent - addend.fraction_bits - 1
    highest_sum = products[-1] + (engine.step.products - 1).bit_length()
    reaches = highest_sum >= half_ulp or not engine.result.rounding.grows_from_half
    # Floor may take one unit off the largest negative number, jam may add one beyond it.
    reaches |= engine.window.truncation is not Truncation.ZERO or engine.window.interleaved is not None
    longer = rounds_addend(engine)
    reaches |= longer and engine.result.rounding is not Rounding.RTZ
    below_normal = longer or engine.result.flush or smallest_sum < result.min_normal_exponent + (not result.subnormals)
    return SumFacts(products, below_normal or engine.step.products > 1, reaches)


def can_be_subnormal(fmt: FixedFormat, facts: SumFacts) -> bool:
    """Return whether a sum can be a subnormal number of `fmt` although it contains a non-zero product."""
    return fmt.subnormals and facts.below_normal


def rounds_addend(engine: Engine) -> bool:
    """Return whether an addend has more fraction bits than the result.

    Such an addend must be rounded even if all products are zero. The rounded addend can be a subnormal number, or can
    overflow.
    """
    result, addend = engine.result.format, engine.addend_format
    return addend.fraction_bits > result.fraction_bits
