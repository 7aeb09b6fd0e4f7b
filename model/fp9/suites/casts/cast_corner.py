"""Corner-case operations of casts, based on the coverage models of IBM FPgen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from fp9.casts.arrays import decode_native, encode
from fp9.formats import FixedFormat, HiFloat8, Rounding
from fp9.suites.casts.family import Choices, Codes, Family, every_choice, rows
from fp9.suites.casts.hybrid_ties import hybrid_ties
from fp9.suites.casts.scaled_sources import brought_inside, far_outside, normalised, special_sources
from fp9.suites.columns import Inputs, concatenated, cycled, drawn_port, fixed, walking_fractions
from fp9.suites.rounding_boundaries import outside, special_codes, tails, thresholds
from fp9.units import SCALE_BITS, Cast, Port

_CARRIES = 4
_CLOSE = 16
# Number of operations with stochastic rounding just below a target's normal range. Other roundings have an eighth.
_REACHING = 1500


def cast_corner(unit: Cast, rng: np.random.Generator) -> Inputs:
    selects = [port for port in unit.inputs if port.choices]
    hybrid = Rounding.HYBRID in unit.roundings and any(isinstance(target, HiFloat8) for target in unit.targets)
    families = [
        *_boundaries(unit, selects, rng),
        _edges(unit, selects),
        _aliases(unit, selects, rng),
        _lone_bits(unit, selects, rng),
        _walking(unit, selects, rng),
        *([hybrid_ties(unit, selects, rng)] if hybrid else []),
        *([brought_inside(unit, selects, rng), far_outside(unit, selects, rng)] if unit.scale else []),
        *(normalised(unit, selects, rng) if unit.scale else []),
        *([_carries(unit, selects, rng)] if Rounding.SR in unit.roundings else []),
        *_reaching(unit, selects, rng),
        *([special_sources(unit, selects, rng)] if unit.scale else []),
    ]
    parts = [_columns(unit, selects, family, rng) for family in families]
    return concatenated([*parts, *([_maxima(unit, rng)] if unit.amax else [])])


# --- families -------------------------------------------------------------------------------------------------------


def _boundaries(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Iterator[Family]:
    source = fixed(unit.source)
    for target, rounding in itertools.product(range(len(unit.targets)), range(len(unit.roundings))):
        fmt = unit.targets[target]
        codes = np.union1d(thresholds(source, fmt), outside(source, fmt))
        codes = codes | rng.choice([0, source.sign_mask], len(codes))
        chosen: Choices = {
            "target": target,
            "rounding": rounding,
            "overflow": np.arange(len(codes)) % len(unit.overflow),
        }
        yield Family(codes, rows(selects, chosen, len(codes)))


def _edges(unit: Cast, selects: list[Port]) -> Family:
    source = fixed(unit.source)
    points = [thresholds(source, fmt) for fmt in unit.targets]
    ends = [end for codes in points for end in (codes[:6], codes[-9:])]
    magnitudes = np.unique(np.concatenate([*ends, special_codes(source)]))
    codes = np.concatenate([magnitudes, magnitudes | source.sign_mask])
    every = every_choice(selects)
    return Family(np.tile(codes, len(every)), np.repeat(every, len(codes), axis=0))


def _aliases(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Family:
    # Each exponent bit decides the comparison with a limit of a target's range.
    source = fixed(unit.source)
    bits = 1 << np.arange(source.fraction_bits, source.bits - 1)
    parts = []
    for (target, fmt), rounding in itertools.product(enumerate(unit.targets), range(len(unit.roundings))):
        points = thresholds(source, fmt)
        normal = int(np.searchsorted(points, int(encode([fmt.smallest_normal], source)[0])))
        ends = np.unique(np.concatenate([points[:12], points[max(0, normal - 12) : normal + 3], points[-12:]]))
        codes = (ends[:, None] ^ bits).reshape(-1)
        overflow = rng.integers(0, len(unit.overflow), len(codes))
        chosen: Choices = {"target": target, "rounding": rounding, "overflow": overflow}
        parts.append((codes | rng.choice([0, source.sign_mask], len(codes)), rows(selects, chosen, len(codes))))
    return Family(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _lone_bits(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Family:
    # If the result is subnormal, the circuit shifts the additional bit out, but the bit must still affect the rounding.
    source = fixed(unit.source)
    bits = 1 << np.arange(source.fraction_bits)
    parts = []
    for (target, fmt), rounding in itertools.product(enumerate(unit.targets), range(len(unit.roundings))):
        numbers = np.array([fmt.to_float(int(code)) for code in fmt.ordered_magnitudes()])
        numbers = np.append(0.0, numbers[numbers <= 2 * fmt.smallest_normal])
        points = np.concatenate([numbers[1:], (numbers[1:] + numbers[:-1]) / 2])
        codes = encode(points, source, "rtz").astype(np.int64)[:, None]
        codes = (codes | bits)[(codes & (2 * bits - 1)) == 0]
        overflow = rng.integers(0, len(unit.overflow), len(codes))
        chosen: Choices = {"target": target, "rounding": rounding, "overflow": overflow}
        parts.append((codes | rng.choice([0, source.sign_mask], len(codes)), rows(selects, chosen, len(codes))))
    return Family(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _walking(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Family:
    source = fixed(unit.source)
    low = min(fmt.smallest for fmt in unit.targets) / 8
    high = max(fmt.max for fmt in unit.targets) * 4
    exponents = np.arange(1 << source.exponent_bits) << source.fraction_bits
    numbers = decode_native(exponents.astype(source.dtype), source).astype(np.float64)
    inside = (numbers >= low) & (numbers <= high) | (exponents == 0)
    full = (1 << source.fraction_bits) - 1
    magnitudes = np.concatenate(
        [
            (exponents[inside, None] | walking_fractions(source)).reshape(-1),
            (exponents[~inside, None] | np.array([0, 1, full, full ^ full >> 1])).reshape(-1),
        ]
    )
    codes = np.concatenate([magnitudes, magnitudes | source.sign_mask])
    drawn = {port.name: drawn_port(port, len(codes), rng) for port in selects}
    return Family(codes, rows(selects, drawn, len(codes)))


def _carries(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Family:
    # The source plus random bits just carries, or just fails to carry.
    source, full = fixed(unit.source), (1 << unit.random_bits) - 1
    parts = []
    for target, fmt in enumerate(unit.targets):
        low, high = (
            int(encode([value], source, "rtz")[0]) >> source.fraction_bits
            for value in (fmt.smallest / (4 << unit.random_bits), fmt.max)
        )
        exponents = np.arange(low, high + 1)[:, None] << source.fraction_bits
        shape = len(exponents), 5 * source.fraction_bits
        length = np.where(rng.random(shape) < 0.6, source.fraction_bits, rng.integers(1, source.fraction_bits, shape))
        drawn = rng.integers(0, 1 << length) ^ rng.choice([0, (1 << source.fraction_bits) - 1], shape)
        walking = np.repeat(walking_fractions(source), _CARRIES)
        codes = np.concatenate([exponents | walking, exponents | drawn], axis=1).reshape(-1)
        codes = np.minimum(codes, source.max_code)  # special codes have no tail
        carrying = np.ceil((1 - tails(codes, source, fmt)) * (full + 1)).astype(np.int64)
        weight = 1 << rng.integers(0, unit.random_bits, len(codes))
        close = weight | rng.integers(0, weight)
        beside = np.stack([carrying, carrying - 1, carrying - 1 ^ weight, carrying - 1 ^ close])
        which = np.arange(len(codes)) % _CARRIES
        random = np.clip(beside[which, np.arange(len(codes))], 0, full)
        overflow = rng.integers(0, len(unit.overflow), len(codes))
        chosen: Choices = {"target": target, "rounding": unit.roundings.index(Rounding.SR), "overflow": overflow}
        signed = codes | rng.choice([0, source.sign_mask], len(codes))
        parts.append((signed, rows(selects, chosen, len(codes)), random))
    return Family(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _reaching(unit: Cast, selects: list[Port], rng: np.random.Generator) -> Iterator[Family]:
    # The sum of source bits and random bits just reaches the smallest normal number, or just fails to reach it. The
    # carry decides the underflow flag.
    source, full = fixed(unit.source), (1 << unit.random_bits) - 1
    for (target, fmt), (index, rounding) in itertools.product(enumerate(unit.targets), enumerate(unit.roundings)):
        count = _REACHING if rounding is Rounding.SR else _REACHING // 8
        quantum = fmt.quantum(fmt.min_normal_exponent) - 1
        steps = (1 << fmt.min_normal_exponent - quantum) - rng.choice([1, 1, 1, 2], count)
        codes = encode((steps + rng.random(count)) * np.exp2(quantum), source, "rtz").astype(np.int64)
        tail = decode_native(codes.astype(source.dtype), source).astype(np.float64) * np.exp2(-quantum) % 1
        lifting = np.ceil((1 - tail) * (full + 1)).astype(np.int64)
        beside = np.stack([lifting, lifting - 1, lifting - 1 ^ 1 << rng.integers(0, unit.random_bits, count)])
        random = np.clip(beside[rng.integers(0, len(beside), count), np.arange(count)], 0, full)
        signed = codes | rng.choice([0, source.sign_mask], count)
        yield Family(signed, rows(selects, {"target": target, "rounding": index}, count), random)


def _maxima(unit: Cast, rng: np.random.Generator) -> Inputs:
    # Magnitudes that differ by one or in one bit occur in successive operations, and in different lanes of one
    # operation.
    source = fixed(unit.source)
    rows, clear = [], []
    for bit, lane in itertools.product(range(source.bits - 1), range(unit.lanes)):
        drawn = int(rng.integers(0, source.max_code))
        for one in (drawn | 1 << bit, (drawn >> bit | 1) << bit):
            larger = min(one, source.max_code)
            for smaller in (larger ^ 1 << bit, larger - 1):
                pair = [smaller] * unit.lanes
                pair[lane] = larger
                rows += [[smaller] * unit.lanes, pair, [larger] * unit.lanes, [smaller] * unit.lanes, pair]
                clear += [1, 0, 1, 0, 1]
        agreeing = drawn >> bit + 1 << bit + 1 | rng.integers(0, 2 << bit, (_CLOSE, unit.lanes))
        rows += np.minimum(agreeing, source.max_code).tolist()
        clear += [1, 0] * (_CLOSE // 2)
    codes = np.array(rows) | rng.choice([0, source.sign_mask], np.shape(rows))
    columns = {port.name: drawn_port(port, len(rows), rng) for port in unit.inputs}
    columns |= {name: codes[:, lane].astype(np.uint32) for lane, name in enumerate(unit.lane_names("x"))}
    return columns | {"amax_clear": np.array(clear, dtype=np.uint32)}


# --- ports ----------------------------------------------------------------------------------------------------------


def _columns(unit: Cast, selects: list[Port], family: Family, rng: np.random.Generator) -> Inputs:
    count = len(family.codes)
    columns = {port.name: family.choices[:, i] for i, port in enumerate(selects)}
    codes = family.codes
    if unit.scale:
        scale = family.scale
        if scale is None:
            scale = rng.integers(-1 << (SCALE_BITS - 1), 1 << (SCALE_BITS - 1), count)
            scale = np.where(rng.random(count) < 0.5, 0, scale)
            # If possible, the source's exponent compensates for the scale, so that the scaled source stays at a
            # rounding boundary.
            codes = _moved(fixed(unit.source), codes, scale)
        columns["scale"] = (scale & (1 << SCALE_BITS) - 1).astype(np.uint32)
    for lane, x in enumerate(unit.lane_names("x")):
        columns[x] = np.roll(codes, lane).astype(np.uint32)
    if Rounding.SR in unit.roundings:
        full = (1 << unit.random_bits) - 1
        drawn = np.where(rng.random(count) < 0.5, full, rng.integers(0, full + 1, count))
        random = drawn if family.random is None else family.random
        columns |= {
            name: np.roll(random, lane).astype(np.uint32) for lane, name in enumerate(unit.lane_names("random"))
        }
    for port in unit.inputs:
        if port.name not in columns:
            columns[port.name] = rng.permutation(cycled(port, count))
    return {port.name: columns[port.name] for port in unit.inputs}


def _moved(source: FixedFormat, codes: Codes, scale: Codes) -> Codes:
    field = (codes & source.magnitude_mask) >> source.fraction_bits
    top = source.max_code >> source.fraction_bits
    fits = (field > 0) & (field <= top) & (field - scale > 0) & (field - scale < top)
    return np.where(fits, codes - (scale << source.fraction_bits), codes)
