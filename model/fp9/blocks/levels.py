"""Factors that multiply a block's elements: the block scale, and in HiF4 one bit for each smaller group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.blocks.scales import bf16_reciprocals
from fp9.casts.arrays import as_codes, decode_to
from fp9.formats.blocks import BlockFormat


def own_codes(scales: NDArray[Any], block: BlockFormat) -> NDArray[Any]:
    """Return the codes of the block scales, without the level bits."""
    own = scales & ((1 << block.scale.bits) - 1) if block.levels else scales
    return as_codes(own, block.scale)


def factors_of(scales: NDArray[Any], block: BlockFormat) -> NDArray[np.float64]:
    """Return the factor of each element. The shape is (blocks, 1), or (blocks, length) if the format has levels."""
    factors = decode_to(own_codes(scales, block), block.scale, np.float64)[:, np.newaxis]
    place = block.scale.bits
    for group in block.levels:
        count = block.length // group
        bits = scales[:, np.newaxis] >> np.arange(place, place + count).astype(scales.dtype) & 1
        factors = factors * np.repeat(1.0 + bits, group, axis=1)
        place += count
    return factors


def level_bits(numbers: NDArray[np.float64], codes: NDArray[Any], block: BlockFormat) -> list[NDArray[np.bool_]]:
    """Return for each level an array of bits, (blocks, groups).

    Let q be the largest number in a group, divided by the block scale and by the factors of all higher levels. Let
    n be the number of levels from this level to the lowest level. The bit is set if q is at least 2^n. Without
    this bit, the lower levels could not scale q into range.
    """
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
    """Return scale codes. The level bits are stored above the bits of the block scale.

    For HiF4 the result is a uint32: 8 bits of E6M2, then 8 level bits, then 16 level bits.
    """
    if not bits:
        return codes
    words, place = codes.astype(np.uint32), block.scale.bits
    for level in bits:
        powers = np.uint32(1) << np.arange(place, place + level.shape[1], dtype=np.uint32)
        words |= (level * powers).sum(axis=1, dtype=np.uint32)
        place += level.shape[1]
    return words
