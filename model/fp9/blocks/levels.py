"""Factors of a block's elements: the block scale, and HiF4's optional factors of 2 for groups of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.blocks.scales import bf16_reciprocals
from fp9.casts.arrays import as_codes, decode_to
from fp9.formats.blocks import BlockFormat


def own_codes(scales: NDArray[Any], block: BlockFormat) -> NDArray[Any]:
    own = scales & ((1 << block.scale.bits) - 1) if block.levels else scales
    return as_codes(own, block.scale)


def factors_of(scales: NDArray[Any], block: BlockFormat) -> NDArray[np.float64]:
    """Return the scale factor that multiplies each element, with shape (blocks, 1), or (blocks, length) for HiF4."""
    factors = decode_to(own_codes(scales, block), block.scale, np.float64)[:, np.newaxis]
    place = block.scale.bits
    for group in block.levels:
        count = block.length // group
        bits = scales[:, np.newaxis] >> np.arange(place, place + count).astype(scales.dtype) & 1
        factors = factors * np.repeat(1.0 + bits, group, axis=1)
        place += count
    return factors


def level_bits(numbers: NDArray[np.float64], codes: NDArray[Any], block: BlockFormat) -> list[NDArray[np.bool_]]:
    """Return the level bits of all groups, as one array (blocks, groups) for each level of HiF4."""
    if not block.levels:
        return []
    reciprocals = bf16_reciprocals(decode_to(codes, block.scale, np.float64))[:, np.newaxis]
    sizes = np.abs(numbers) * reciprocals
    bits: list[NDArray[np.bool_]] = []
    for place, group in enumerate(block.levels):
        tops = sizes.reshape(len(sizes), -1, group).max(axis=2)
        bits.append(tops >= 2.0 ** (len(block.levels) - place))
        sizes = sizes / np.repeat(1.0 + bits[-1], group, axis=1)
    return bits


def with_levels(codes: NDArray[Any], bits: list[NDArray[np.bool_]], block: BlockFormat) -> NDArray[Any]:
    """Return scale codes (blocks,) with HiF4's level bits above the bits of the block scale."""
    if not bits:
        return codes
    words, place = codes.astype(np.uint32), block.scale.bits
    for level in bits:
        powers = np.uint32(1) << np.arange(place, place + level.shape[1], dtype=np.uint32)
        words |= (level * powers).sum(axis=1, dtype=np.uint32)
        place += level.shape[1]
    return words
