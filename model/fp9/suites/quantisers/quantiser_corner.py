"""Corner-case operations of quantisers, near rounding thresholds of scales and elements.

In many blocks, the largest magnitude (amax) is at or next to a threshold of the scale rule. In many blocks, a smaller
number divided by the scale lies near a rounding threshold of the element format. Such rounding thresholds are the
numbers of the element format, and the midpoints between neighbouring numbers. In some blocks, all numbers except amax,
the largest magnitude, differ from amax in the same single bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fp9.blocks.scales import scale_codes
from fp9.casts.arrays import decode_native, encode
from fp9.formats import floor_log2, pow2
from fp9.formats.blocks import ScaleRule
from fp9.suites.columns import Codes, Inputs, cycled, one_of_each
from fp9.suites.quantisers.quotients import Blocks, corner_blocks, random_blocks
from fp9.suites.rounding_boundaries import special_codes, thresholds
from fp9.units import TENSOR_SCALE, Quantiser

# Number of significands of amax for each exponent and rule.
_EACH = 3

_REACHED = 6

_TIES = 4

_CLOSE = 4

# Maximum distance from amax in binades, and number of blocks per distance. Farther elements are zero.
_APART, _NEAR = 64, 4

# Number of blocks for each lane whose numbers are near the subnormal range.
_TINY = 12

# Number of blocks in a smoke suite.
_SMOKE = 960

# Share of random operations with arbitrary codes, including infinities and NaN.
_RARE = 1 / 16


def quantiser_corner(unit: Quantiser, rng: np.random.Generator) -> Inputs:
    if unit.block.tensor:
        return _with_tensors(unit, corner_blocks(unit, rng), rng)
    parts = [
        *_at_steps(unit, rng),
        _each_bit(unit, rng),
        _close(unit, rng),
        _just_reached(unit, rng),
        _one_bit(unit, rng),
        _any(unit, rng),
        _apart(unit, rng),
        _tiny(unit, rng),
        _specials(unit, rng),
    ]
    magnitudes, rules = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return _columns(unit, magnitudes | rng.choice([0, unit.source.sign_mask], magnitudes.shape), rules, rng)


def quantiser_random(unit: Quantiser, count: int, rng: np.random.Generator) -> Inputs:
    """Return at least `count` random operations that form complete blocks."""
    source = unit.source
    blocks = -(-count // unit.group)
    if unit.block.tensor:
        return _with_tensors(unit, random_blocks(unit, blocks, rng), rng)
    shape = blocks, unit.block.length
    # Most numbers, divided by the block's scale, are within the range of the elements.
    top = rng.integers(0, (source.max_code >> source.fraction_bits) + 1, (blocks, 1))
    field = np.maximum(top - rng.geometric(0.2, shape) + 1, 0)
    magnitudes = field << source.fraction_bits | rng.integers(0, 1 << source.fraction_bits, shape)
    anything = rng.integers(0, 1 << (source.bits - 1), shape)
    magnitudes = np.where(rng.random((blocks, 1)) < _RARE, anything, magnitudes)
    codes = magnitudes | rng.choice([0, source.sign_mask], shape)
    return _columns(unit, codes, rng.integers(0, len(unit.rules), blocks), rng)


def quantiser_smoke(unit: Quantiser, corner: Inputs) -> Inputs:
    """Return the operations of randomly selected blocks of a corner suite, in the order of the corner suite."""
    rng = np.random.default_rng(0)
    columns = [corner[x] & (unit.source.sign_mask - 1) for x in unit.lane_names("x")]
    blocks = np.stack(columns, axis=1).reshape(-1, unit.block.length)
    always = one_of_each(_decided_by(unit, blocks, corner), rng) if unit.block.powers_of_two else np.arange(0)
    always = always[:: max(1, -(-len(always) // (_SMOKE // 2)))]
    # A third of the blocks contain subnormal numbers that affect elements.
    low = blocks.max(axis=1) >> unit.source.fraction_bits < _binades(unit)
    parts = (low, _SMOKE // 3), (~low, _SMOKE - _SMOKE // 3 - len(always))
    others = [(np.setdiff1d(np.flatnonzero(some), always), share) for some, share in parts]
    drawn = [rng.choice(some, min(len(some), share), replace=False) for some, share in others]
    kept = np.sort(np.concatenate([always, *drawn]))
    operations = (kept[:, None] * unit.group + np.arange(unit.group)).reshape(-1)
    return {name: column[operations] for name, column in corner.items()}


def _decided_by(unit: Quantiser, blocks: Codes, corner: Inputs) -> Codes:
    # A cover point is the lane of the largest number, and the highest bit in which the two largest numbers differ.
    last = slice(unit.group - 1, None, unit.group)
    rules = np.minimum(corner["rule"][last], len(unit.rules) - 1) if "rule" in corner else np.zeros(len(blocks), int)
    following, amax = np.partition(blocks, -2, axis=1)[:, -2:].T.astype(np.int64)
    finite = amax <= unit.source.max_code
    decides = np.zeros(len(blocks), dtype=np.bool_)
    for index, rule in enumerate(unit.rules):
        here = finite & (rules == index)
        ours, without = (scale_codes(_numbers(unit, codes[here]), unit.block, rule) for codes in (amax, following))
        decides[here] = ours != without
    bit = np.frexp(amax ^ following)[1]
    return np.where(decides, blocks.argmax(axis=1) * unit.source.bits + bit, 0)


# --- families: magnitudes (n, length) and rules (n,) ------------------------------------------------------------------

_Family = tuple[Codes, Codes]


def _at_steps(unit: Quantiser, rng: np.random.Generator) -> Iterator[_Family]:
    # The other numbers of a block are at or next to a midpoint between two scaled elements.
    for index, rule in enumerate(unit.rules):
        amax = rng.permuted(_steps(unit, rule), axis=1)[:, :_EACH].reshape(-1)
        blocks = _numbers_beside(unit, rule, amax, rng)
        blocks[np.arange(len(amax)), rng.integers(0, unit.block.length, len(amax))] = amax
        yield blocks, np.full(len(amax), index)


def _each_bit(unit: Quantiser, rng: np.random.Generator) -> _Family:
    # The last blocks of each exponent have exact ties, which round down to the even element.
    source, length = unit.source, unit.block.length
    low = np.repeat(np.arange(_binades(unit)), _TIES)
    exponents = np.append(low, rng.integers(source.bias // 2, source.bias, _TIES) + source.bias // 2)
    bit, exponent = (
        axis.reshape(-1) for axis in np.meshgrid(np.append(1 << np.arange(source.fraction_bits), 0), exponents)
    )
    rules = rng.integers(0, len(unit.rules), len(bit))
    amax = np.maximum(exponent << source.fraction_bits, (1 << source.fraction_bits) - 1)
    scales = np.empty(len(bit))
    for index, rule in enumerate(unit.rules):
        here = rules == index
        scales[here] = _scales(unit, rule, amax[here])
    ties, turn = _numbers(unit, _ties(unit)), np.arange(len(bit)) // (source.fraction_bits + 1)
    numbers = ties[(turn[:, None] + np.arange(length)) % len(ties)] * scales[:, None]
    numbers = encode(numbers, source, "rtz").astype(np.int64) | bit[:, None]
    blocks = np.minimum(numbers, amax[:, None])
    blocks[np.arange(len(bit)), rng.integers(0, length, len(bit))] = amax
    return blocks, rules


def _binades(unit: Quantiser) -> int:
    element = unit.block.element
    return 2 + floor_log2(element.max_magnitude) - floor_log2(Fraction(element.smallest))


def _ties(unit: Quantiser) -> Codes:
    element = unit.block.element
    numbers = np.array([element.to_float(int(code)) for code in element.ordered_magnitudes()])
    middles = (numbers[:-1] + numbers[1:])[::2] / 2
    return encode(middles, unit.source, "rtz").astype(np.int64)


def _steps(unit: Quantiser, rule: ScaleRule) -> Codes:
    source = unit.source
    divisor = unit.block.divisor(rule)
    start = divisor / pow2(floor_log2(divisor))
    points = [start * factor for factor in (Fraction(3, 4), Fraction(1), Fraction(3, 2))]
    points.append(2 - pow2(-unit.block.element.precision))
    hidden = 1 << source.fraction_bits
    places = [int((point - 1) * hidden) + step for point in points if 1 <= point < 2 for step in (-1, 0, 1)]
    fractions = np.unique([0, 1, hidden - 1, *(place for place in places if 0 <= place < hidden)])
    exponents = np.arange((source.max_code >> source.fraction_bits) + 1) << source.fraction_bits
    return np.asarray(exponents[:, None] | fractions, dtype=np.int64)


def _numbers_beside(unit: Quantiser, rule: ScaleRule, amax: Codes, rng: np.random.Generator) -> Codes:
    source = unit.source
    drawn = rng.choice(thresholds(source, unit.block.element), (len(amax), unit.block.length))
    exact = _numbers(unit, drawn) * _scales(unit, rule, amax)[:, None]
    return np.minimum(encode(exact, source, "rtz").astype(np.int64), amax[:, None])


def _scales(unit: Quantiser, rule: ScaleRule, amax: Codes) -> NDArray[np.float64]:
    codes = scale_codes(_numbers(unit, amax), unit.block, rule).astype(np.int64)
    return np.exp2(codes + unit.block.scale.min_normal_exponent)


def _numbers(unit: Quantiser, magnitudes: Codes) -> NDArray[np.float64]:
    return decode_native(magnitudes.astype(unit.source.dtype), unit.source).astype(np.float64)


def _close(unit: Quantiser, rng: np.random.Generator) -> _Family:
    # Above the lower bit, the other numbers agree with amax. At the lower bit, they have a 0, followed by random bits.
    source, length = unit.source, unit.block.length
    bits, places = (axis.reshape(-1) for axis in np.meshgrid(np.arange(source.bits - 1), np.arange(length)))
    bits, places = np.tile(bits, _CLOSE), np.tile(places, _CLOSE)
    rules = rng.integers(0, len(unit.rules), len(bits))
    steps = [_steps(unit, rule).reshape(-1) for rule in unit.rules]
    amax = np.array([rng.choice(steps[rule]) for rule in rules]) | 1 << bits
    amax = np.minimum(amax, source.max_code)
    low = (1 << bits)[:, None]
    others = (amax[:, None] ^ low) & -low | rng.integers(0, low, (len(bits), length))
    blocks = np.where(others < amax[:, None], others, 0)
    blocks[np.arange(len(bits)), places] = amax
    return blocks, rules


def _just_reached(unit: Quantiser, rng: np.random.Generator) -> _Family:
    # If a circuit selects a wrong number as amax, the circuit computes a wrong scale.
    length = unit.block.length
    amax = np.concatenate([rng.choice(_firsts(unit, rule), _REACHED * length) for rule in unit.rules])
    places = np.resize(np.arange(length), len(amax))
    return _beside(amax, amax - 1, places, length), np.repeat(np.arange(len(unit.rules)), _REACHED * length)


def _firsts(unit: Quantiser, rule: ScaleRule) -> Codes:
    steps = np.unique(_steps(unit, rule))
    steps = steps[(steps > 0) & (steps <= unit.source.max_code)]
    after, before = (scale_codes(_numbers(unit, codes), unit.block, rule) for codes in (steps, steps - 1))
    return np.asarray(steps[after != before])


def _beside(amax: Codes, others: Codes, places: Codes, length: int) -> Codes:
    blocks = np.repeat(others[:, None], length, axis=1)
    blocks[np.arange(len(amax)), places] = amax
    return blocks


def _one_bit(unit: Quantiser, rng: np.random.Generator) -> _Family:
    # The other numbers of a block equal amax with the deciding bit cleared.
    length = unit.block.length
    lasts = [_firsts(unit, rule) - 1 for rule in unit.rules]
    last, rule = np.concatenate(lasts), np.repeat(np.arange(len(lasts)), [len(codes) for codes in lasts])
    blocks, rules = [], []
    for bit in 1 << np.arange(unit.source.bits - 1):
        free = np.flatnonzero((last & bit == 0) & (last | bit <= unit.source.max_code))
        if len(free):
            drawn = rng.choice(free, 2 * length)
            set_in = np.where(np.arange(2 * length) < length, bit, 0)
            blocks.append(_beside(last[drawn] | set_in, last[drawn], np.resize(np.arange(length), 2 * length), length))
            rules.append(rule[drawn])
    return np.concatenate(blocks), np.concatenate(rules)


def _any(unit: Quantiser, rng: np.random.Generator) -> _Family:
    count = _TINY * unit.block.length
    amax = rng.integers(0, unit.source.max_code + 1, (count, 1))
    return rng.integers(0, amax + 1, (count, unit.block.length)), np.resize(np.arange(len(unit.rules)), count)


def _apart(unit: Quantiser, rng: np.random.Generator) -> _Family:
    # In a quarter of the blocks, all numbers except amax are powers of two.
    source, length = unit.source, unit.block.length
    count = _NEAR * _APART
    exponent = rng.integers(_APART, (source.max_code >> source.fraction_bits) + 1, count)
    distance = (np.arange(count)[:, None] + np.arange(length)) % _APART
    fraction = rng.integers(0, 1 << source.fraction_bits, (count, length)) * (np.arange(count) >= _APART)[:, None]
    blocks = (exponent[:, None] - distance << source.fraction_bits) + fraction
    blocks[np.arange(count), rng.integers(0, length, count)] = (exponent + 1 << source.fraction_bits) - 1
    return blocks, np.resize(np.arange(len(unit.rules)), count)


def _tiny(unit: Quantiser, rng: np.random.Generator) -> _Family:
    count = _TINY * unit.block.length
    leading = np.int64(1) << rng.integers(0, unit.source.fraction_bits + 3, (count, unit.block.length))
    return leading | rng.integers(0, leading), np.resize(np.arange(len(unit.rules)), count)


def _specials(unit: Quantiser, rng: np.random.Generator) -> _Family:
    length, codes = unit.block.length, special_codes(unit.source)
    special = np.append(codes, np.full(length, unit.source.inf_code(False)))
    places = np.append(rng.integers(0, length, len(codes)), np.arange(length))
    blocks = rng.integers(0, unit.source.max_code, (len(special), length))
    blocks[np.arange(len(special)), places] = special
    alone = np.where(np.arange(length) == places[:, None], special[:, None], 0)
    mixed = np.concatenate([blocks, alone])
    uniform = np.tile(codes[:, None], (len(unit.rules), length))
    rules = np.arange(len(unit.rules))
    return np.concatenate([mixed, uniform]), np.append(np.resize(rules, len(mixed)), np.repeat(rules, len(codes)))


def _with_tensors(unit: Quantiser, blocks: Blocks, rng: np.random.Generator) -> Inputs:
    # The last operation of a block holds the block's tensor scale.
    magnitudes, tensors, rules = blocks
    columns = _columns(unit, magnitudes | rng.choice([0, unit.source.sign_mask], magnitudes.shape), rules, rng)
    whole = rng.integers(0, 1 << TENSOR_SCALE.bits, (len(tensors), unit.group))
    whole[:, -1] = tensors
    return {port.name: columns.get(port.name, whole.reshape(-1).astype(np.uint32)) for port in unit.inputs}


def _columns(unit: Quantiser, codes: Codes, rules: Codes, rng: np.random.Generator) -> Inputs:
    # The last operation of a block selects the scale rule. Before, the select port is random and must have no effect.
    # Values above the last rule's number also select the last rule.
    lanes = codes.reshape(-1, unit.width)
    columns = {x: lanes[:, place].astype(np.uint32) for place, x in enumerate(unit.lane_names("x"))}
    port = next((port for port in unit.inputs if port.choices), None)
    if port is None:
        return columns
    last = len(unit.rules) - 1
    beyond = np.maximum(cycled(port, len(rules)), last)
    chosen = rng.integers(0, 1 << port.width, (len(rules), unit.group))
    chosen[:, -1] = np.where(rules == last, beyond, rules)
    return columns | {port.name: chosen.reshape(-1).astype(np.uint32)}
