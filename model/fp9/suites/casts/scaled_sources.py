"""Corner-case operations of casts in which the scale moves the source number into or out of the target's range."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from fp9.casts.arrays import decode_native
from fp9.suites.casts.family import Family, every_choice, rows
from fp9.suites.columns import drawn_port, fixed, walking_fractions
from fp9.suites.rounding_boundaries import special_codes
from fp9.units import SCALE_BITS, Cast, Port

# Number of operations whose scale moves the source into the targets' range.
_SCALED = 3000
_TURNS = 4
# Number of operations for each exponent of the scaled source.
_FAR = 16


def brought_inside(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Family:
    """Return sources of any magnitude, with scales that move the sources into the targets' range."""
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


def normalised(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Iterator[Family]:
    """Yield casts of subnormal source numbers, with the leading 1 at each fraction bit position in turn.

    The scale of each cast moves the source number into the range of a target format.
    """
    source = fixed(unit.source)
    if 1 << source.fraction_bits <= _SCALED // 2:
        return
    least, most = -1 << (SCALE_BITS - 1), (1 << (SCALE_BITS - 1)) - 1
    for (target, fmt), rounding in itertools.product(enumerate(unit.targets), range(len(unit.roundings))):
        # The circuit must keep every source bit when it normalises the source before rounding.
        kept = fmt.precision
        leads, lone = np.indices((source.fraction_bits, source.fraction_bits + 1)).reshape(2, -1).repeat(_TURNS, axis=1)
        above = (1 << kept - 1 | rng.integers(0, 1 << kept - 1, leads.size)) * 2 + rng.integers(0, 2, leads.size)
        codes = above << leads >> kept
        codes = np.where(lone < leads - kept, codes | 1 << np.minimum(lone, leads), codes)
        ends = np.log2(fmt.smallest_normal), np.log2(fmt.max)
        exponents = rng.integers(int(ends[0]) - 2, int(ends[1]) + 1, leads.size)
        scale = np.clip(exponents - (source.lowest_exponent - source.fraction_bits + leads), least, most)
        chosen = {"target": target, "rounding": rounding, "overflow": rng.integers(0, len(unit.overflow), leads.size)}
        signed = codes | rng.choice([0, source.sign_mask], leads.size)
        yield Family(signed, rows(selects, chosen, leads.size), scale=scale)


def special_sources(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Family:
    source, every = fixed(unit.source), every_choice(selects)
    magnitudes = special_codes(source)
    codes = np.tile(np.concatenate([magnitudes, magnitudes | source.sign_mask]), 2 * len(every))
    choices = np.repeat(np.tile(every, (2, 1)), 2 * len(magnitudes), axis=0)
    other = rng.integers(1, 1 << SCALE_BITS, len(codes) // 2)
    return Family(codes, choices, scale=np.append(np.zeros_like(other), other))


def far_outside(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Family:
    """Return casts in which the scaled source number, x * 2^scale, takes every possible exponent.

    Most of the scaled source numbers are outside the range of the unit's target formats.
    """
    source, least = fixed(unit.source), -1 << (SCALE_BITS - 1)
    every = every_choice(selects)
    top = source.max_code >> source.fraction_bits
    together = np.tile(np.arange(1 + least, top - least), _FAR)
    scale = rng.integers(np.maximum(least, together - top), np.minimum(-1 - least, together - 1) + 1)
    codes = together - scale << source.fraction_bits | rng.choice(walking_fractions(source), len(together))
    choices = every[rng.permutation(np.resize(np.arange(len(every)), len(together)))]
    return Family(codes | rng.choice([0, source.sign_mask], len(codes)), choices, scale=scale)
