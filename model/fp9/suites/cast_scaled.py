"""Corner operations of casts with a scale: what only the scale brings to where the targets are, or far beyond."""

from __future__ import annotations

import numpy as np

from fp9.casts.arrays import decode_native
from fp9.suites.cast_family import Family, every_choice, rows
from fp9.suites.columns import drawn_port, fixed, walking_fractions
from fp9.units import SCALE_BITS, Cast, Port

_SCALED = 3000
"""Operations that only a scale brings to where the targets are."""
_FAR = 16
"""Operations for each exponent of the product of a source and its scale."""


def brought_inside(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Family:
    """Sources of any size, half of them subnormal, with the scale that brings them to where the targets are."""
    source, hidden = fixed(unit.source), 1 << fixed(unit.source).fraction_bits
    walking = walking_fractions(source)
    subnormal = np.concatenate([walking[walking > 0], rng.integers(1, hidden, _SCALED // 2)])
    codes = np.concatenate([subnormal, rng.integers(hidden, source.max_code, _SCALED // 2)])
    value = decode_native(codes.astype(source.dtype), source).astype(np.float64)
    low = np.log2(min(fmt.smallest for fmt in unit.targets)) - 3
    high = np.log2(max(fmt.max for fmt in unit.targets)) + 2
    exponents = rng.uniform(low, high, len(codes))
    scale = np.clip(exponents - np.log2(value), -1 << (SCALE_BITS - 1), (1 << (SCALE_BITS - 1)) - 1)
    drawn = {port.name: drawn_port(port, len(codes), rng) for port in selects}
    signed = codes | rng.choice([0, source.sign_mask], len(codes))
    return Family(signed, rows(selects, drawn, len(codes)), scale=np.round(scale).astype(np.int64))


def far_outside(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Family:
    """Every exponent that a source and a scale have together, most of them beyond all targets, every choice many times.

    Source and scale share it: the source takes what the scale, drawn, leaves.
    """
    source, least = fixed(unit.source), -1 << (SCALE_BITS - 1)
    every = every_choice(selects)
    top = source.max_code >> source.fraction_bits
    together = np.tile(np.arange(1 + least, top - least), _FAR)
    scale = rng.integers(np.maximum(least, together - top), np.minimum(-1 - least, together - 1) + 1)
    codes = together - scale << source.fraction_bits | rng.choice(walking_fractions(source), len(together))
    choices = every[rng.permutation(np.resize(np.arange(len(every)), len(together)))]
    return Family(codes | rng.choice([0, source.sign_mask], len(codes)), choices, scale=scale)
