"""Corner operations of casts: thresholds and specials of every target, walking bits at every source exponent."""

from __future__ import annotations

import functools
import itertools

import numpy as np
from numpy.typing import NDArray

from fp9.casting import encode
from fp9.formats import FixedFormat, Format, HiFloat8, Rounding
from fp9.hybrid_table import hybrid_table
from fp9.policy import CastPolicy
from fp9.stimulus.columns import Inputs, cycled, every_value, fixed, walking_codes
from fp9.units import Cast, Port


def cast_corner(unit: Cast, rng: np.random.Generator) -> Inputs:
    """Under every value of the select ports: thresholds and specials of each target; under drawn ones: walking bits,
    all codes of a 16-bit source, and where hybrid rounding compares, sources whose F and T are equal or nearly so.

    Lanes carry the same operands in different order. Scale, random bits and the like are drawn.
    """
    selects = [port for port in unit.inputs if port.choices]
    source = fixed(unit.source)
    thresholds = np.unique(np.concatenate([_thresholds(source, fmt) for fmt in unit.targets]))
    choices = np.array(list(itertools.product(*(every_value(port) for port in selects))), dtype=np.uint32)
    drawn = [(walking_codes(source), choices)]
    if source.bits == 16:
        drawn += [(np.arange(1 << source.bits), choices)] * 2
    if Rounding.HYBRID in unit.roundings:
        drawn.append((_hybrid_ties(source, rng), choices[_hybrid(unit, selects, choices)]))
    codes = np.concatenate([np.tile(thresholds, len(choices)), *(some for some, _ in drawn)]).astype(np.uint32)
    under = [np.repeat(choices, len(thresholds), axis=0)]
    under += [offered[rng.integers(0, len(offered), len(some))] for some, offered in drawn]
    columns = {x: np.roll(codes, lane) for lane, x in enumerate(unit.lane_names("x"))}
    for i, port in enumerate(selects):
        columns[port.name] = np.concatenate(under)[:, i]
    for port in unit.inputs:
        if port.name not in columns:
            columns[port.name] = rng.permutation(cycled(port, len(codes)))
    return {port.name: columns[port.name] for port in unit.inputs}


@functools.lru_cache(maxsize=64)
def _thresholds(source: FixedFormat, target: Format) -> NDArray[np.uint32]:
    """Source codes at, just below and just above every number of the target and every midpoint, of both signs."""
    numbers = np.array([target.to_float(int(code)) for code in target.ordered_magnitudes()])
    numbers = np.append(numbers, [2 * numbers[-1] - numbers[-2], 2 * numbers[-1]])
    points = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2])
    codes = encode(points, source, "rtz").astype(np.int64)
    around = (codes[:, None] + np.array([-1, 0, 1])).reshape(-1)
    around = np.concatenate([around[(around >= 0) & (around <= source.magnitude_mask)], _special_codes(source)])
    return np.unique(np.concatenate([around, around | source.sign_mask])).astype(np.uint32)


def _special_codes(fmt: FixedFormat) -> NDArray[np.int64]:
    """Magnitudes: zero, the ends of the subnormal and of the finite numbers, infinity and NaNs of every single bit."""
    top, hidden = fmt.max_code, 1 << fmt.fraction_bits
    nans = [top + 1 + (1 << i) for i in range(fmt.fraction_bits)]
    edges = [0, 1, 2, hidden - 1, hidden, top - 1, top, top + 1, *nans, fmt.magnitude_mask]
    return np.array([code for code in edges if code <= fmt.magnitude_mask])


def _hybrid(unit: Cast, selects: list[Port], choices: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which choices round to hif8 by hybrid rounding."""
    meant = {"target": {f.name for f in unit.targets if isinstance(f, HiFloat8)}, "rounding": {Rounding.HYBRID.value}}
    chosen = np.ones(len(choices), dtype=np.bool_)
    for i, port in enumerate(selects):
        if port.name in meant:
            values = np.minimum(choices[:, i], len(port.choices) - 1)
            chosen &= np.array([port.choices[value] in meant[port.name] for value in values])
    return chosen


def _hybrid_ties(source: FixedFormat, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sources in which F equals T, those that differ from them in one bit or in all from one bit on, and drawn ones.

    F and T are bits of the same fraction, F some places further up (HiF8 section 3.2): they are equal where the
    fraction repeats itself with that period.
    """
    table = hybrid_table(source, HiFloat8(), CastPolicy(Rounding.HYBRID), negative=False)
    places = range(source.fraction_bits)
    codes = []
    for binade in (*table.binades, table.near_normal):
        period = max(1, binade.field.low)
        for seed in rng.integers(0, 1 << period, 12):
            repeated = sum(int(seed) << shift for shift in range(0, source.fraction_bits, period))
            pattern = binade.first | repeated & ((1 << source.fraction_bits) - 1)
            codes += [pattern, *(pattern ^ 1 << place for place in places)]
            codes += [pattern ^ int(rng.integers(1 << place, 2 << place)) for place in places]
        codes += rng.integers(binade.first, binade.end, 128).tolist()
    magnitudes = np.array(codes, dtype=np.int64)
    return np.concatenate([magnitudes, magnitudes | source.sign_mask])
