"""Derive facts about a unit's sums from its operand ranges, to omit hardware for impossible cases."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.engines import Addend, Engine, Truncation
from fp9.formats import FixedFormat, Rounding, floor_log2
from fp9.units import Dot, exponent_range, product_range


@dataclass(frozen=True, slots=True)
class SumFacts:
    """Exponents and exceptions that can occur when a unit adds its products and addend, and rounds the sum."""

    # Exponents that the leading bit of a non-zero product can have.
    products: range
    # A sum with a non-zero product can be below the smallest normal number of the result format.
    below_normal: bool
    # A finite sum can round to more than the largest number.
    overflow: bool


def sum_facts(unit: Dot) -> SumFacts:
    a_low, a_high = exponent_range(unit.a, unit.bias_port)
    b_low, b_high = exponent_range(unit.b, unit.bias_port)
    products = range(a_low + b_low, a_high + b_high + 2)
    product_ulp = product_range(unit.a, unit.b, unit.bias_port).ulp
    return _facts(unit.engine.within_chunk, products, product_ulp)


def join_facts(engine: Engine) -> SumFacts:
    chunk = engine.result.format
    smallest = floor_log2(chunk.value_of(chunk.smallest_code))
    exponents = range(smallest, chunk.highest_exponent + 1)
    return _facts(engine.joining, exponents, chunk.quantum(smallest))


def _facts(engine: Engine, products: range, product_ulp: int) -> SumFacts:
    result, addend = engine.result.format, engine.addend_format
    # Without cancellation, the sum is at least the product. With cancellation, the sum is a multiple of both terms'
    # last places, and the addend's last place is within the addend's precision of the product's exponent.
    smallest_sum = min(product_ulp, products[0] - 1 - addend.fraction_bits)
    # Rounding to nearest or toward zero keeps the largest number if the product is below half an ulp of it.
    half_ulp = result.highest_exponent - addend.fraction_bits - 1
    highest_sum = products[-1] + (engine.step.products - 1).bit_length()
    reaches = highest_sum >= half_ulp or not engine.result.rounding.grows_from_half
    # Floor may subtract one unit from the largest negative number, and jam may add one unit beyond the number.
    reaches |= engine.window.truncation is not Truncation.ZERO or engine.window.interleaved is not None
    longer = rounds_addend(engine)
    reaches |= longer and engine.result.rounding is not Rounding.RTZ
    below_normal = longer or engine.result.flush or smallest_sum < result.min_normal_exponent + (not result.subnormals)
    # A window can truncate a product to zero. The sum is then the addend, which can be subnormal.
    below_normal |= engine.window.width is not None
    # Zero products then place a window, which can cut a subnormal addend.
    below_normal |= engine.window.addend is Addend.ALIGNED and engine.window.zero_exponent is not None
    return SumFacts(products, below_normal or engine.step.products > 1, reaches)


def can_be_subnormal(fmt: FixedFormat, facts: SumFacts) -> bool:
    return fmt.subnormals and facts.below_normal


def rounds_addend(engine: Engine) -> bool:
    # An addend with more fraction bits than the result must be rounded even if all products are zero, and can become
    # subnormal or overflow.
    result, addend = engine.result.format, engine.addend_format
    return addend.fraction_bits > result.fraction_bits
