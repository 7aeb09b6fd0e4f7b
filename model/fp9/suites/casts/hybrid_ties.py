"""Corner-case operations of HiFloat8's hybrid rounding: dropped bits near the threshold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import encode
from fp9.formats import HiFloat8, Rounding
from fp9.formats.policy import CastPolicy
from fp9.oracle.hybrid import hybrid_table
from fp9.suites.casts.family import Family, every_choice
from fp9.suites.columns import fixed
from fp9.units import Cast, Port

_SEEDS, _NEAR_NORMAL = 6, 64
# Number of random operations per binade.
_DRAWN = 256
# Number of operations with hybrid rounding in the binade above the largest number.
_OVERFLOWING = 128


def hybrid_ties(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Family:
    """Return random casts, and casts whose dropped bits are near the rounding threshold (HiF8 section 3.2)."""
    source = fixed(unit.source)
    table = hybrid_table(source, HiFloat8(), CastPolicy(Rounding.HYBRID), negative=False)
    places = range(source.fraction_bits)
    codes = []
    for binade in (*table.binades, table.near_normal):
        period = max(1, binade.field.low)
        for seed in rng.integers(0, 1 << period, _NEAR_NORMAL if binade is table.near_normal else _SEEDS):
            # Hybrid rounding rounds a magnitude up if the dropped bits reach a threshold, which the lowest source bits
            # form.
            repeated = sum(int(seed) << shift for shift in range(0, source.fraction_bits, period))
            pattern = binade.first | repeated & ((1 << source.fraction_bits) - 1)
            codes += [pattern, *(pattern ^ 1 << place for place in places)]
            codes += [pattern ^ int(rng.integers(1 << place, 2 << place)) for place in places]
        codes += rng.integers(binade.first, binade.end, _DRAWN).tolist()
    # Above the largest number, the result depends on the source's bits only up to a certain point.
    largest, beyond = (int(code) for code in encode([HiFloat8().max, 2 * HiFloat8().max], source))
    codes += rng.integers(largest, beyond, _OVERFLOWING).tolist()
    magnitudes = np.array(codes, dtype=np.int64)
    every = every_choice(selects)
    offered = every[_chooses_hybrid(unit, selects, every)]
    signed = magnitudes | rng.choice([0, source.sign_mask], len(magnitudes))
    return Family(signed, offered[rng.integers(0, len(offered), len(signed))])


def _chooses_hybrid(unit: Cast, selects: list[Port], choices: NDArray[np.uint32]) -> NDArray[np.bool_]:
    meant = {"target": {f.name for f in unit.targets if isinstance(f, HiFloat8)}, "rounding": {Rounding.HYBRID.value}}
    chosen = np.ones(len(choices), dtype=np.bool_)
    for i, port in enumerate(selects):
        if port.name in meant:
            values = np.minimum(choices[:, i], len(port.choices) - 1)
            chosen &= np.array([port.choices[value] in meant[port.name] for value in values])
    return chosen
