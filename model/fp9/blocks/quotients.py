"""Block quantisation for all formats and scale rules, by float64 division and a cast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.blocks.levels import factors_of, level_bits, own_codes, with_levels
from fp9.blocks.scales import bf16_reciprocals, scale_codes
from fp9.casts.arrays import decode_to, encode_numbers
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import PUBLISHED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fp9.casts.random_bits import RandomBits
    from fp9.formats.blocks import BlockFormat, ScaleRule


class Quotients(NamedTuple):
    """Settings of a block quantisation."""

    block: BlockFormat
    rule: ScaleRule
    policy: CastPolicy
    # One tensor scale, or an array (blocks,) of tensor scales.
    scale: float | NDArray[np.float64]
    random: RandomBits | None


def by_casts(rows: NDArray[Any], how: Quotients) -> tuple[NDArray[Any], NDArray[Any]]:
    with np.errstate(invalid="ignore"):  # widening a signalling NaN
        numbers = rows.astype(np.float64)
    amax = np.abs(numbers).max(axis=1, initial=0.0)
    if how.rule.tries:
        return _best_of_tries(numbers, amax, how)
    codes = scale_codes(amax, how.block, how.rule, how.scale)
    bits = level_bits(numbers, codes, how.block)
    shared = with_levels(codes, bits, how.block)
    return _elements(numbers, shared, how), shared


class _Try(NamedTuple):
    """Result of one try: the codes of blocks that were quantised with one divisor of the scale rule."""

    elements: NDArray[Any]
    scales: NDArray[Any]
    # Sums of y^2 and of x * y in each block, whose numbers x are quantised to t * y with the tensor scale t.
    squares: NDArray[np.float64]
    products: NDArray[np.float64]

    def error(self, scale: float | NDArray[np.float64]) -> NDArray[np.float64]:
        # Each block's sum of squared errors, divided by the tensor scale. The term sum x^2 / t is omitted, because it
        # is equal for all divisors.
        with np.errstate(invalid="ignore"):
            return np.asarray(scale * self.squares - 2 * self.products)


def _best_of_tries(
    numbers: NDArray[np.float64], amax: NDArray[np.float64], how: Quotients
) -> tuple[NDArray[Any], NDArray[Any]]:
    best, *others = _tries(numbers, amax, how)
    for other in others:
        better = other.error(how.scale) < best.error(how.scale)
        best = _Try(*(_where(better, *both) for both in zip(other, best, strict=True)))
    return best.elements, best.scales


def _where(rows: NDArray[np.bool_], ours: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    return np.where(rows.reshape(-1, *[1] * (ours.ndim - 1)), ours, others)


def _tries(numbers: NDArray[np.float64], amax: NDArray[np.float64], how: Quotients) -> Iterator[_Try]:
    # The sums of squares and products are exact in float64.
    for divisor in how.rule.tries:
        codes = scale_codes(amax, how.block, how.rule, how.scale, divisor)
        elements = _elements(numbers, codes, how)
        sums = decode_to(elements, how.block.element, np.float64) * factors_of(codes, how.block)
        with np.errstate(invalid="ignore"):
            yield _Try(elements, codes, (sums**2).sum(axis=1), (numbers * sums).sum(axis=1))


def errors_of_tries(
    numbers: NDArray[np.float64], block: BlockFormat, rule: ScaleRule, scale: float | NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """For each divisor that the scale rule tries, return an array (blocks,) with one error measure per block.

    For the same block, a divisor with a smaller error measure also gives a smaller sum of squared errors.
    """
    # Numbers x are quantised to t * y, where t is the tensor scale, and the measure is t * sum y^2 - 2 * sum xy. The
    # sum of squared errors is t * measure, plus a term that is equal for all divisors.
    return [made.error(scale) for made in _made(numbers, block, rule, scale)]


def balancing_scales(
    numbers: NDArray[np.float64], block: BlockFormat, rule: ScaleRule, scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return, for each block, a tensor scale at which the scale rule's two divisors give equal squared errors.

    The function quantises block i with the tensor scale `scale[i]`, and does not change the codes afterwards.
    """
    first, second = _made(numbers, block, rule, scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(2 * (second.products - first.products) / (second.squares - first.squares))


def _made(
    numbers: NDArray[np.float64], block: BlockFormat, rule: ScaleRule, scale: float | NDArray[np.float64]
) -> Iterator[_Try]:
    amax = np.abs(numbers).max(axis=1, initial=0.0)
    return _tries(numbers, amax, Quotients(block, rule, CastPolicy(block.rounding), scale, None))


def _elements(numbers: NDArray[np.float64], scales: NDArray[Any], how: Quotients) -> NDArray[Any]:
    block, rule, policy, scale, random = how
    factors = factors_of(scales, block)
    shared = decode_to(own_codes(scales, block), block.scale, np.float64)[:, np.newaxis]
    usable = np.isfinite(shared) & (shared > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if rule.reciprocals:
            quotients = numbers * (bf16_reciprocals(shared) / (factors / shared))
        else:
            quotients = numbers / (factors * np.reshape(scale, (-1, 1)))
    unusable = np.where(shared == 0, np.copysign(0.0, numbers), 0.0)
    bits = (None, 16) if random is None else (random.values, random.width)
    codes, _ = encode_numbers(np.where(usable, quotients, unusable), block.element, policy, PUBLISHED, *bits)
    return codes
