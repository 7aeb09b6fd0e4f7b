"""Corner-case blocks for quantisers that have an input for the tensor scale t.

In each corner case, a small change of the block would change the scale, an element, or the choice between two scales.
Some scale rules divide the block's largest magnitude (amax) by two divisors, which gives two candidate scales. The
scale rule then chooses the candidate scale with the smaller squared quantisation error of the block.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fp9.blocks.quotients import balancing_scales, errors_of_tries
from fp9.casts.arrays import decode_native, decode_to, encode
from fp9.formats import FixedFormat, pow2
from fp9.formats.blocks import ScaleRule
from fp9.formats.rounding import Rounding
from fp9.suites.columns import Codes, walking_fractions
from fp9.suites.rounding_boundaries import special_codes
from fp9.units import TENSOR_SCALE, Quantiser

Numbers = NDArray[np.float64]


class Blocks(NamedTuple):
    """Quantiser blocks: magnitudes (n, length), tensor scales (n,) and scale rules (n,)."""

    magnitudes: Codes
    tensors: Codes
    rules: Codes


# Number of blocks for each scale and rule.
_EACH = 8

_PLACES = 24

# Number of blocks whose tensor scale is near the lowest or the highest FP32 number.
_ENDS = 600

_DRAWN, _KEPT = 20_000, 1_500

# Number of iterations to balance the errors. Each new tensor scale changes the elements.
_STEPS = 4

_END = 4

_ALONE = 4

# Range of random numbers in binades below amax. Numbers below this range would have zero elements.
_SPREAD = 9


def corner_blocks(unit: Quantiser, rng: np.random.Generator) -> Blocks:
    families = (_one_bit, _beside_middles, _ends, _tiny, _specials)
    parts = [*_at_steps(unit, rng), *(family(unit, rng) for family in families)]
    if any(rule.tries for rule in unit.rules):
        parts.append(_close_tries(unit, rng))
    parts.append(_beside_middles(unit, rng, max(1, TENSOR_SCALE.fraction_bits - unit.source.fraction_bits)))
    parts.append(_one_dropped_bit(unit, rng))
    return Blocks(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def random_blocks(unit: Quantiser, count: int, rng: np.random.Generator) -> Blocks:
    rules = rng.integers(0, len(unit.rules), count)
    tensors = _drawn_tensors(rng, count)
    scales = rng.integers(1, unit.block.scale.max_code + 1, count)
    amax = _source(unit, _numbers_of(unit, scales) * float(unit.block.largest) * _tensor_numbers(tensors))
    blocks = _below(unit, amax, rng)
    anything = rng.random(count) < 1 / 16
    blocks[anything] = rng.integers(0, unit.source.magnitude_mask + 1, (anything.sum(), unit.block.length))
    tensors[rng.random(count) < 1 / 64] ^= TENSOR_SCALE.sign_mask
    return Blocks(blocks, tensors, rules)


# --- families ---------------------------------------------------------------------------------------------------------


def _at_steps(unit: Quantiser, rng: np.random.Generator) -> Iterator[Blocks]:
    # A third of the blocks has exact quotients. In a third, a change of the tensor scale's last bit changes the block
    # scale.
    length = unit.block.length
    for index, rule in enumerate(unit.rules):
        for divisor in rule.tries or (float(unit.block.divisor(rule)),):
            begins = np.tile(_begins(unit, rule) * divisor, _EACH * 3)
            tensors = _drawn_tensors(rng, len(begins))
            tensors[::3] &= -1 << TENSOR_SCALE.fraction_bits - 3  # short significands, which give exact quotients
            amax = _source(unit, begins * _tensor_numbers(tensors))
            nearest = _tensors(_numbers(unit, amax[1::3]) / begins[1::3])
            tensors[1::3] = np.maximum(nearest + rng.integers(-1, 2, len(nearest)), 1 << TENSOR_SCALE.fraction_bits)
            amax = np.clip(amax + np.where(np.arange(len(amax)) % 3 == 1, 0, rng.integers(-1, 2, len(amax))), 0, None)
            codes = np.tile(np.arange(1, unit.block.scale.max_code + 1), _EACH * 3) - rng.integers(0, 2, len(amax))
            blocks = _at_middles(unit, amax, codes, tensors, rng)
            blocks[np.arange(len(amax)), rng.integers(0, length, len(amax))] = amax
            yield Blocks(blocks, tensors, np.full(len(amax), index))


def _one_bit(unit: Quantiser, rng: np.random.Generator) -> Blocks:
    # The other numbers are amax with the deciding bit cleared, or amax minus one.
    length, width = unit.block.length, unit.source.bits - 1
    bits, places = (axis.reshape(-1) for axis in np.meshgrid(np.arange(width), np.arange(length)))
    bits, places = np.tile(bits, _PLACES), np.tile(places, _PLACES)
    count = len(bits)
    rules = rng.integers(0, len(unit.rules), count)
    amax = rng.integers(1, unit.source.max_code + 1, count) | 1 << bits
    amax = np.minimum(amax, unit.source.max_code)
    begins = np.empty(count)
    for index, rule in enumerate(unit.rules):
        here = rules == index
        begins[here] = rng.choice(_begins(unit, rule), here.sum()) * float(unit.block.divisor(rule))
    tensors = _tensors(_numbers(unit, amax) / begins)  # amax is at a threshold, within FP32 precision
    tensors = np.clip(tensors - rng.integers(0, 2, count), 1 << TENSOR_SCALE.fraction_bits, TENSOR_SCALE.max_code)
    others = np.where(rng.random(count) < 1 / 2, amax & ~(1 << bits), amax - 1)
    blocks = np.repeat(others[:, None], length, axis=1)
    alone = np.arange(count) < count - count // 4
    blocks[np.arange(count)[alone], places[alone]] = amax[alone]
    return Blocks(blocks, tensors, rules)


def _beside_middles(unit: Quantiser, rng: np.random.Generator, powers: int = 1) -> Blocks:
    # In some blocks, the tensor scale is 2^k ulps too large or too small, for a random k below `powers`.
    length, middles = unit.block.length, _middles(unit)
    places, which = (axis.reshape(-1) for axis in np.meshgrid(np.arange(length), np.arange(len(middles))))
    places, which = np.tile(places, 2 * _PLACES), np.tile(which, 2 * _PLACES)
    count = len(places)
    source, rules = unit.source, rng.integers(0, len(unit.rules), count)
    low = rng.random(count) < 1 / 3
    exponent = np.where(low, rng.integers(0, 4, count), rng.integers(0, source.max_code >> source.fraction_bits, count))
    x = np.maximum(exponent << source.fraction_bits | rng.integers(0, 1 << source.fraction_bits, count), 1)
    codes = rng.integers(1, unit.block.scale.max_code + 1, count)
    steps = middles[which] * _numbers_of(unit, codes)
    tensors = _tensors(_numbers(unit, x) / steps)
    tensors += (rng.integers(-1, 2, count) * (rng.random(count) < 2 / 3)) << rng.integers(0, powers, count)
    tensors = np.clip(tensors, 1 << TENSOR_SCALE.fraction_bits, TENSOR_SCALE.max_code)
    largest = float(unit.block.largest) * _numbers_of(unit, codes)
    amax = np.maximum(_source(unit, largest * _tensor_numbers(tensors)), x)
    blocks = _at_middles(unit, amax, codes, tensors, rng)
    rows = np.arange(count)
    blocks[rows, places] = x
    blocks[rows, (places + rng.integers(1, length, count)) % length] = amax
    return Blocks(blocks, tensors, rules)


def _one_dropped_bit(unit: Quantiser, rng: np.random.Generator) -> Blocks:
    # The midpoint exceeds x by 2^-`bit` ulps of the source. A tie at the midpoint rounds up, so a circuit that ignores
    # the small difference computes a wrong element.
    length, source = unit.block.length, unit.source
    cases = [
        case
        for middle in _middles_up(unit)
        for shift in range(1, source.precision)
        for bit in range(1, shift + 1)
        for case in _alone(unit, middle, shift, bit, rng)
    ]
    x, codes, tensors = np.array(cases, dtype=np.int64).reshape(-1, 3).T
    rules = rng.integers(0, len(unit.rules), len(x))
    largest = float(unit.block.largest) * _numbers_of(unit, codes)
    amax = np.maximum(_source(unit, largest * _tensor_numbers(tensors)), x)
    blocks = _at_middles(unit, amax, codes, tensors, rng)
    rows, places = np.arange(len(x)), np.resize(np.arange(length), len(x))
    blocks[rows, places] = x
    blocks[rows, (places + rng.integers(1, length, len(x))) % length] = amax
    return Blocks(blocks, tensors, rules)


def _middles_up(unit: Quantiser) -> list[Fraction]:
    # A tie rounds up if the lower element has an odd code.
    numbers = [Fraction(number) for number in _elements(unit).tolist()]
    return [(low + high) / 2 for low, high in zip(numbers[1::2], numbers[2::2], strict=False)]


def _alone(
    unit: Quantiser, middle: Fraction, shift: int, bit: int, rng: np.random.Generator
) -> Iterator[tuple[int, int, int]]:
    # The midpoint times both scales is the odd integer x 2^bit + 1 times a power of two. The significand of x is
    # `shift` bits shorter than a normal significand.
    digits = unit.source.precision - shift + bit
    quantum = pow2(unit.source.quantum(unit.source.min_normal_exponent) - bit)
    usable = []
    for code in range(1, unit.block.scale.max_code + 1):
        step = middle * Fraction(unit.block.scale.to_float(code))
        odd = step.numerator // (step.numerator & -step.numerator)
        first, last = -(-(1 << digits - 1) // odd), ((1 << digits) - 1) // odd
        first += (pow(odd, -1, 1 << bit) - first) % (1 << bit)
        if first <= last < 1 << TENSOR_SCALE.precision and pow2(TENSOR_SCALE.min_normal_exponent) <= (
            first * odd * quantum / step
        ):
            usable.append((code, step, odd, first, last))
    for _ in range(_ALONE if usable else 0):
        code, step, odd, first, last = usable[rng.integers(len(usable))]
        integer = odd * (first + (int(rng.integers((last - first >> bit) + 1)) << bit))
        tensor = integer * quantum / step
        if tensor <= Fraction(TENSOR_SCALE.max_magnitude):
            yield integer >> bit, code, int(_tensors(np.array([float(tensor)]))[0])


def _ends(unit: Quantiser, rng: np.random.Generator) -> Blocks:
    bits, count = TENSOR_SCALE.fraction_bits, _ENDS * 3
    fractions = rng.choice(walking_fractions(TENSOR_SCALE), count)
    top = TENSOR_SCALE.max_code >> bits
    exponent = np.resize([*range(1, 25), *range(top - 24, top + 1)], count)
    exponent[_ENDS:] = rng.integers(1, top + 1, count - _ENDS)
    source = unit.source
    field = np.clip(exponent + rng.integers(-16, 17, count), 0, source.max_code >> source.fraction_bits)
    amax = field << source.fraction_bits | rng.integers(0, 1 << source.fraction_bits, count)
    far = rng.random(count) < 1 / 6
    amax[far] = rng.integers(0, source.max_code + 1, far.sum())
    amax[np.arange(count) % (_ENDS // 12) < len(unit.rules)] = 0  # zero blocks, for every rule
    return Blocks(_below(unit, amax, rng), exponent << bits | fractions, np.resize(np.arange(len(unit.rules)), count))


def _tiny(unit: Quantiser, rng: np.random.Generator) -> Blocks:
    bits, count = TENSOR_SCALE.fraction_bits, _ENDS * 3
    fractions = np.where(rng.random(count) < 1 / 2, 0, rng.choice(walking_fractions(TENSOR_SCALE), count))
    tensors = rng.integers(1, 5, count) << bits | fractions
    amax = rng.integers(1, np.int64(1) << rng.integers(1, unit.source.fraction_bits + 1, count))
    blocks = rng.integers(0, amax[:, None] + 1, (count, unit.block.length))
    return Blocks(blocks, tensors, np.resize(np.arange(len(unit.rules)), count))


def _specials(unit: Quantiser, rng: np.random.Generator) -> Blocks:
    # Some tensor scales are negative, or have an exponent field of all zeros or all ones except for one bit.
    length, bits = unit.block.length, TENSOR_SCALE.fraction_bits
    codes = special_codes(unit.source)
    special = np.append(np.resize(codes, len(codes) * 4), np.full(length * 2, unit.source.inf_code(False)))
    count = len(special)
    tensors = _drawn_tensors(rng, count)
    blocks = _below(unit, _source(unit, _tensor_numbers(tensors) * 512), rng)
    blocks[np.arange(count), np.resize(np.arange(length), count)] = special
    whole = np.concatenate([special_codes(TENSOR_SCALE), 1 << np.arange(bits, TENSOR_SCALE.bits - 1)])
    but_one = TENSOR_SCALE.magnitude_mask ^ 1 << np.arange(bits, TENSOR_SCALE.bits - 1)
    whole = np.tile(np.concatenate([whole, whole | TENSOR_SCALE.sign_mask, but_one]), 3)
    beside = rng.integers(0, unit.source.max_code + 1, (len(whole), length))
    alone = np.zeros((len(codes), length), dtype=np.int64) + codes[:, None]
    parts = np.concatenate([blocks, beside, alone])
    tensors = np.concatenate([tensors, whole, _drawn_tensors(rng, len(codes))])
    return Blocks(parts, tensors, np.resize(np.arange(len(unit.rules)), len(parts)))


def _close_tries(unit: Quantiser, rng: np.random.Generator) -> Blocks:
    # The tensor scale is the last one before the better divisor changes, or the first one after the change.
    index, rule = next((index, rule) for index, rule in enumerate(unit.rules) if rule.tries)
    blocks, tensors = _blocks_to_balance(unit, rng)
    numbers = _numbers(unit, blocks)
    for _ in range(_STEPS):
        balanced = balancing_scales(numbers, unit.block, rule, _tensor_numbers(tensors))
        tensors = np.where(np.isfinite(balanced) & (balanced > 0), _tensors(np.nan_to_num(balanced)), tensors)
    after = np.minimum(tensors + 1, TENSOR_SCALE.max_code)
    here, behind = (_ahead(unit, rule, numbers, codes) for codes in (tensors, after))
    kept = np.flatnonzero(here != behind)[:_KEPT]
    ordinary = np.arange(_KEPT // 2)
    rows = np.concatenate([kept, kept, ordinary])
    whole = np.concatenate([tensors[kept], after[kept], tensors[ordinary]])
    return Blocks(blocks[rows], whole, np.full(len(rows), index))


def _blocks_to_balance(unit: Quantiser, rng: np.random.Generator) -> tuple[Codes, Codes]:
    # The quotient of amax and tensor scale, divided by the largest element, lies between two neighbouring block scales.
    tensors, top = _drawn_tensors(rng, _DRAWN), unit.block.scale.max_code
    ends = rng.choice([[0, _END], [0, top], [top - _END, top]], _DRAWN)
    codes = rng.integers(ends[:, 0], ends[:, 1])
    low, high = (_numbers_of(unit, code) for code in (codes, codes + 1))
    scales = low + rng.random(_DRAWN) * (high - low)
    amax = _source(unit, scales * float(unit.block.largest) * _tensor_numbers(tensors))
    blocks, kind = _below(unit, amax, rng), rng.integers(0, 3, (_DRAWN, 1))
    blocks = np.where((kind == 0) & (rng.random(blocks.shape) < 3 / 4), 0, blocks)
    near = rng.integers(0, 2 << rng.integers(0, unit.source.fraction_bits, (_DRAWN, 1)), blocks.shape)
    return np.where(kind == 1, np.maximum(amax[:, None] - near, 0), blocks), tensors


def _ahead(unit: Quantiser, rule: ScaleRule, numbers: Numbers, tensors: Codes) -> Codes:
    first, second = errors_of_tries(numbers, unit.block, rule, _tensor_numbers(tensors))
    return np.sign(second - first).astype(np.int64)


# --- helpers ----------------------------------------------------------------------------------------------------------


def _begins(unit: Quantiser, rule: ScaleRule) -> Numbers:
    numbers = _numbers_of(unit, np.arange(unit.block.scale.max_code + 1))
    if rule.rounding is Rounding.RUP:  # any non-zero number reaches the smallest scale
        return np.append(numbers[1] / 2, numbers[1:-1])
    return np.asarray((numbers[:-1] + numbers[1:]) / 2)


def _middles(unit: Quantiser) -> Numbers:
    numbers = _elements(unit)
    return np.asarray((numbers[:-1] + numbers[1:]) / 2)


def _elements(unit: Quantiser) -> Numbers:
    return np.asarray(unit.block.element.table[: unit.block.element.max_code + 1], dtype=np.float64)


def _at_middles(unit: Quantiser, amax: Codes, codes: Codes, tensors: Codes, rng: np.random.Generator) -> Codes:
    shape, middles = (len(amax), unit.block.length), _middles(unit)
    points = np.concatenate([middles, middles, _elements(unit)[1:]])
    exact = rng.choice(points, shape) * (_numbers_of(unit, codes) * _tensor_numbers(tensors))[:, None]
    return np.clip(_source(unit, exact) + rng.integers(-1, 2, shape), 0, amax[:, None])


def _below(unit: Quantiser, amax: Codes, rng: np.random.Generator) -> Codes:
    source, shape = unit.source, (len(amax), unit.block.length)
    field = np.maximum((amax >> source.fraction_bits)[:, None] - rng.integers(0, _SPREAD, shape), 0)
    fraction = rng.integers(0, 1 << source.fraction_bits, shape)
    blocks: Codes = np.minimum(field << source.fraction_bits | fraction, amax[:, None])
    blocks[np.arange(len(amax)), rng.integers(0, unit.block.length, len(amax))] = amax
    return blocks


def _drawn_tensors(rng: np.random.Generator, count: int) -> Codes:
    bits = TENSOR_SCALE.fraction_bits
    return rng.integers(1, TENSOR_SCALE.max_code >> bits, count) << bits | rng.integers(0, 1 << bits, count)


def _tensor_numbers(codes: Codes) -> Numbers:
    return _decoded(codes, TENSOR_SCALE)


def _tensors(numbers: Numbers) -> Codes:
    return np.clip(_encoded(numbers, TENSOR_SCALE), 1 << TENSOR_SCALE.fraction_bits, TENSOR_SCALE.max_code)


def _numbers(unit: Quantiser, magnitudes: Codes) -> Numbers:
    return _decoded(magnitudes, unit.source)


def _source(unit: Quantiser, numbers: Numbers) -> Codes:
    return _encoded(numbers, unit.source)


def _numbers_of(unit: Quantiser, codes: Codes) -> Numbers:
    numbers: Numbers = decode_to(codes, unit.block.scale, np.float64)
    return numbers


def _decoded(codes: Codes, fmt: FixedFormat) -> Numbers:
    return np.asarray(decode_native(codes.astype(fmt.dtype), fmt), dtype=np.float64)


def _encoded(numbers: Numbers, fmt: FixedFormat) -> Codes:
    return np.minimum(encode(numbers, fmt, "rtz").astype(np.int64), fmt.max_code)
