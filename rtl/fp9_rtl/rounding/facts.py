"""What the ranges of a unit's operands prove about its sums; each fact prunes hardware behind it."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.engines import Engine, Truncation
from fp9.formats import FixedFormat, Rounding, floor_log2
from fp9.units import Dot, exponent_range, product_range


@dataclass(frozen=True, slots=True)
class SumFacts:
    """Facts about the rounded sum of the products and c.

    `products` holds the exponents of non-zero products, the leading bit's. `below_normal`: a sum with a non-zero
    product can lie below the result's normal numbers, as it can wherever products cancel and leave c.
    `overflow`: a finite sum can round to more than the largest.
    """

    products: range
    below_normal: bool
    overflow: bool


def sum_facts(unit: Dot) -> SumFacts:
    """Facts about the steps of an `fma`, `dot` or `mac`, whose addend is that of the step: with chunks, the chunk."""
    a_low, a_high = exponent_range(unit.a, unit.bias_port)
    b_low, b_high = exponent_range(unit.b, unit.bias_port)
    products = range(a_low + b_low, a_high + b_high + 2)
    product_ulp = product_range(unit.a, unit.b, unit.bias_port).ulp
    return _facts(unit.engine.within_chunk, products, product_ulp)


def join_facts(engine: Engine) -> SumFacts:
    """Facts about the sum of a chunk, in the place of the products, and the total."""
    chunk = engine.result
    smallest = floor_log2(chunk.value_of(chunk.smallest_code))
    exponents = range(smallest, chunk.highest_exponent + 1)
    return _facts(engine.joining, exponents, chunk.quantum(smallest))


def _facts(engine: Engine, products: range, product_ulp: int) -> SumFacts:
    """Facts about sums of products that are multiples of 2^product_ulp and an addend of the engine."""
    result, addend = engine.result, engine.addend_format
    # A sum that does not cancel is at least the product; one that cancels is a multiple of both terms' last places,
    # and the addend's is then within its precision of the product's exponent.
    smallest_sum = min(product_ulp, products[0] - 1 - addend.fraction_bits)
    # To nearest and toward zero the largest number stays where it is while the product is below half its ulp.
    half_ulp = result.highest_exponent - addend.fraction_bits - 1
    highest_sum = products[-1] + (engine.products - 1).bit_length()
    reaches = highest_sum >= half_ulp or not engine.rounding.grows_from_half
    # Floor may take one unit off the largest negative number, jam may add one beyond it.
    reaches |= engine.truncation is not Truncation.ZERO or engine.interleaved is not None
    longer = rounds_addend(engine)
    reaches |= longer and engine.rounding is not Rounding.RTZ
    below_normal = longer or engine.flush_result or smallest_sum < result.min_normal_exponent + (not result.subnormals)
    return SumFacts(products, below_normal or engine.products > 1, reaches)


def can_be_subnormal(fmt: FixedFormat, facts: SumFacts) -> bool:
    """Whether a sum that is not the addend alone can be a subnormal number of `fmt`."""
    return fmt.subnormals and facts.below_normal


def rounds_addend(engine: Engine) -> bool:
    """Whether an addend has more fraction bits than the result.

    It is then rounded wherever it stands: among subnormal numbers, or beyond the largest.
    """
    result, addend = engine.result, engine.addend_format
    return addend.fraction_bits > result.fraction_bits
