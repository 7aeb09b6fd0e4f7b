"""Corner-case and random operations of the multi-format FPU (unit `multi_fpu`).

In most operations, the last operand is chosen so that the exact result is at or next to a rounding boundary of the
result format.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_to, encode
from fp9.formats import FixedFormat, Format
from fp9.formats.rounding import Rounding
from fp9.suites.columns import Inputs, classes, concatenated, drawn_port, walking_codes
from fp9.units import SCALE_BITS, MultiFpu, MultiFpuOp, Port
from fp9.units.multi_fpu import DOTS, NARROW_BITS, PRODUCTS, ROUNDED, SINGLES

# Maximum number of format combinations per operation in the corner suite.
BLOCKS = 40

# The same for results just below the smallest normal number.
_BLOCKS_BELOW_NORMAL = 16

# The same for sums with long carries, and for sums with one low bit.
_BLOCKS_OF_CARRIES = 32

# The same for sums whose formats are mostly wide: sums near a rounding boundary, sums of a product and an addend with
# close exponents, and sums with cancellation.
_BLOCKS_OF_WIDE, _BLOCKS_OF_CLOSE, _BLOCKS_OF_CANCELLATION = 32, 24, 32

# Share of these sums' formats that have more than 8 bits. Only wide formats use the upper bits of a significand, and a
# sum has four formats, so few sums with random formats are wide.
_SHARE_WIDE = 0.75

# Two of four ways to choose the operands of sums with long carries.
_SPARSE, _FAR = 0, 1

# Number of operations in a block, which have the same operation code and the same formats.
ROWS = 24

# Operand that is computed from a wanted result. Operations that are not listed compute operand c.
_LAST = {MultiFpuOp.CONVERT: "a", MultiFpuOp.SQRT: "a", MultiFpuOp.MUL: "b", MultiFpuOp.DIV: "b"}
_SHARE_UNBOXED = 1 / 16
_SUMS = tuple(op for op in PRODUCTS if op not in SINGLES)
# Distances between the codes of two compared operands.
_AWAY = (0, 0, 0, 1, -1, 1, -1, 2, -2, 3, -3, 4, -4, 8, -8, 16, -16)
_SCALES = (0, 0, 1, -1, 7, -7, 24, -24, 127, -128)
# Offsets from a code or midpoint, as fractions of the distance between two codes.
_BESIDE = np.array([0.0, 2.0**-30, -(2.0**-30), 0.25, -0.25])

# Fraction of an ulp that the modes below round away from zero, for numbers of the given sign or (0) of both signs. The
# shortest fractions are 2^-2 to 2^-11, above one half if the mode is to nearest.
_TAIL = 0.75
_SHORTEST_TAILS = range(2, 12)
_AWAY_BY_SIGN = {Rounding.RNE: 0, Rounding.RNA: 0, Rounding.RUP: 1, Rounding.RDN: -1}

# Select values and formats of a block.
_Selections = Iterator[tuple[dict[str, int], dict[str, Format]]]

# Function that returns the operand codes of a block's rows.
_Operands = Callable[
    [MultiFpu, MultiFpuOp, dict[str, Format], NDArray[np.int64], np.random.Generator], dict[str, NDArray[np.uint32]]
]


def multi_corner(unit: MultiFpu, rng: np.random.Generator) -> Inputs:
    whole = _in_one_lane(unit, rng)
    if not unit.lane_widths:
        return whole
    lanes = [_in_lanes(unit, width, value, rng) for value, width in enumerate(unit.lane_widths, 1)]
    return concatenated([whole | {"vector": np.zeros_like(whole["vector"])}, *lanes])


def multi_random(unit: MultiFpu, count: int, rng: np.random.Generator) -> Inputs:
    drawn = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    corner = multi_corner(unit, rng)
    rows = rng.integers(0, len(corner["a"]), count)
    taken = rng.random(count) < 0.5
    return {name: np.where(taken, corner[name][rows], column) for name, column in drawn.items()}


def _in_one_lane(unit: MultiFpu, rng: np.random.Generator) -> Inputs:
    everywhere = _blocks(unit, rng, BLOCKS, lambda op, formats: True, _operands)
    below = [
        block
        for operands in (_operands_below_normal, functools.partial(_operands_below_normal, shortest=True))
        for block in _blocks(unit, rng.spawn(1)[0], _BLOCKS_BELOW_NORMAL, _reaches_below_normal, operands)
    ]
    carries = _blocks(unit, rng.spawn(1)[0], _BLOCKS_OF_CARRIES, _carries_across, _operands_with_carry, _mostly_wide)
    sums = [
        block
        for blocks, operands in (
            (_BLOCKS_OF_WIDE, _operands),
            (_BLOCKS_OF_CLOSE, _operands_close),
            (_BLOCKS_OF_CANCELLATION, _operands_cancelling),
        )
        for block in _blocks(unit, rng.spawn(1)[0], blocks, lambda op, formats: op in _SUMS, operands, _mostly_wide)
    ]
    converted = _blocks(
        unit, rng.spawn(1)[0], BLOCKS, lambda op, formats: op is MultiFpuOp.CONVERT, _operands, _mostly_wide
    )
    return concatenated([*everywhere, *below, *carries, *sums, *converted])


def _in_lanes(unit: MultiFpu, width: int, vector: int, rng: np.random.Generator) -> Inputs:
    lane = _in_one_lane(unit.lane_units[width], rng)
    count = len(lane["a"])
    columns = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    columns |= {name: column for name, column in lane.items() if name in columns}
    columns |= {name: _carries(unit, count, rng) for name in unit.random_ports}
    columns["vector"] = np.full(count, vector, np.uint32)
    for name in unit.lane_units[width].operands:
        lanes = range(unit.word // width)
        rolled = [np.roll(lane[name], number).astype(np.uint32) << width * number for number in lanes]
        columns[name] = functools.reduce(np.bitwise_or, rolled)
    return columns


def _selecting(port: Port, value: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    # Unused select values select the last choice.
    unused = value == len(port.choices) - 1
    return rng.integers(value, 1 << port.width if unused else value + 1, ROWS).astype(np.uint32)


def _selections(unit: MultiFpu, rng: np.random.Generator) -> _Selections:
    combinations = list(itertools.product(range(len(unit.formats)), repeat=len(_format_ports(unit))))
    for place in rng.permutation(len(combinations)):
        yield _selected(unit, combinations[place])


def _mostly_wide(unit: MultiFpu, rng: np.random.Generator) -> _Selections:
    every, ports = range(len(unit.formats)), len(_format_ports(unit))
    wide = [index for index in every if unit.formats[index].bits > NARROW_BITS]
    if not wide:
        yield from _selections(unit, rng)
        return
    for _ in range(BLOCKS):
        yield _selected(unit, [int(rng.choice(wide if rng.random() < _SHARE_WIDE else every)) for _ in range(ports)])


def _format_ports(unit: MultiFpu) -> list[str]:
    return list(dict.fromkeys(unit.format_port(name) for name in (*unit.operands, "result")))


def _selected(unit: MultiFpu, combination: Sequence[int]) -> tuple[dict[str, int], dict[str, Format]]:
    selects = dict(zip(_format_ports(unit), combination, strict=True))
    return selects, {name: unit.formats[selects[unit.format_port(name)]] for name in (*unit.operands, "result")}


def _blocks(
    unit: MultiFpu,
    rng: np.random.Generator,
    blocks: int,
    suits: Callable[[MultiFpuOp, dict[str, Format]], bool],
    operands: _Operands,
    selections: Callable[[MultiFpu, np.random.Generator], _Selections] = _selections,
) -> Iterator[Inputs]:
    for index, op in enumerate(unit.operations):
        suited = (each for each in selections(unit, rng) if suits(op, each[1]))
        for selects, formats in itertools.islice(suited, blocks):
            columns = {port.name: drawn_port(port, ROWS, rng) for port in unit.inputs}
            columns |= {name: _carries(unit, ROWS, rng) for name in unit.random_ports}
            chosen = {"op": index, **selects}
            columns |= {
                port.name: _selecting(port, chosen[port.name], rng) for port in unit.inputs if port.name in chosen
            }
            scales = np.zeros(ROWS, np.int64)
            if op is MultiFpuOp.CONVERT and unit.scale:
                scales = rng.choice(_SCALES, ROWS)
                columns["scale"] = (scales & ((1 << SCALE_BITS) - 1)).astype(np.uint32)
            codes = operands(unit, op, formats, scales, rng)
            boxed = {name: fmt for name, fmt in formats.items() if name in codes and not _is_packed(op, name)}
            yield columns | codes | _boxed(unit, boxed, {name: codes[name] for name in boxed}, rng)


def _nearest(numbers: NDArray[np.float64], fmt: Format) -> NDArray[Any]:
    return encode(numbers, fmt, "rne", nan_to_zero=not fmt.has_nan)


def _operands(
    unit: MultiFpu, op: MultiFpuOp, formats: dict[str, Format], scales: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    # A conversion multiplies its operand by 2^scale, so the operand is the wanted number divided by 2^scale.
    rows = len(scales)
    # In a quarter of the rows, each operand is of a random class, so that special operands meet.
    chosen = np.arange(rows) % 4 != 0
    codes = {
        name: np.where(chosen, rng.choice(_pool(formats[name]), rows), rng.choice(_often_special(formats[name]), rows))
        for name in unit.operands
    }
    codes = {name: column.astype(np.uint32) for name, column in codes.items()}
    if op in DOTS:
        return _dot_operands(unit, DOTS[op], formats, rows, rng)
    if op is MultiFpuOp.FROM_INTEGER:
        return codes | {"a": _integers(unit, formats["result"], rows, rng)}
    if op is MultiFpuOp.TO_INTEGER:
        led = _nearest(_near_integers(unit, rows, rng), formats["a"])
        codes["a"] = np.where(chosen, led, codes["a"]).astype(np.uint32)
    elif op in ROUNDED:
        last = _LAST.get(op, "c")
        led = _nearest(np.ldexp(_leading(op, formats, codes, last, rng), -scales), formats[last])
        codes[last] = np.where(chosen, led, codes[last]).astype(np.uint32)
    elif op not in SINGLES:
        fmt = formats["a"] if op.value.startswith(("sgnj", "min", "max")) else formats["c"]
        # The codes have a small distance, differ in one bit, or are equal, apart from the sign.
        special = rng.choice(_often_special(formats["a"]), rows).astype(np.uint32)
        codes["a"] = np.where(rng.random(rows) < 1 / 2, special, codes["a"])
        same = _nearest(decode_to(codes["a"].astype(formats["a"].dtype), formats["a"], np.float64), fmt)
        way, sign = rng.integers(0, 3, rows), rng.choice([0, 1 << fmt.bits - 1], rows)
        bit = np.where(way == 0, 1 << rng.integers(0, fmt.bits, rows), 0)
        moved = same.astype(np.int64) + np.where(way == 1, rng.choice(_AWAY, rows), 0) ^ bit ^ sign
        codes["c"] = np.where(chosen, moved & ((1 << fmt.bits) - 1), codes["c"]).astype(np.uint32)
    return codes


def _reaches_below_normal(op: MultiFpuOp, formats: dict[str, Format]) -> bool:
    result = formats["result"]
    if not isinstance(result, FixedFormat) or not result.subnormals:
        return False
    if op is MultiFpuOp.CONVERT:
        return formats["a"].precision > result.precision + 1
    return op is MultiFpuOp.FMADD and formats["c"] == result and bool(_exponents(formats["a"], formats["b"], result))


def _exponents(a: Format, b: Format, result: Format) -> range:
    # Exponents of a normal number in format a, for which a normal number in format b gives a product that is half a
    # subnormal ulp of the result.
    product = result.min_normal_exponent - result.precision
    lowest = max(a.min_normal_exponent, product - math.frexp(b.max)[1] + 2)
    return range(lowest, min(math.frexp(a.max)[1] - 1, product - b.min_normal_exponent))


def _operands_below_normal(
    unit: MultiFpu,
    op: MultiFpuOp,
    formats: dict[str, Format],
    scales: NDArray[np.int64],
    rng: np.random.Generator,
    shortest: bool = False,
) -> dict[str, NDArray[np.uint32]]:
    # The exact result is inexact and just below the smallest normal number. Rounded to the precision of normal numbers,
    # the exact result can be the smallest normal number only if all its leading fraction bits are 1. In most rows, one
    # of these bits is 0. The rounding is away from zero. In a sum, the product is the last leading bit and the tail.
    # The tail has one bit, after the bit for one half if the mode is to nearest, or is 0.75 ulp.
    result, rows = formats["result"], len(scales)
    ulp = np.ldexp(result.smallest_normal, -result.precision)
    bit = (np.arange(rows) + rng.integers(result.precision)) % result.precision
    zero = np.where(bit == result.precision - 1, 0.0, np.ldexp(1.0, bit))
    codes, sign, tail = _rounded_away(unit, rows, rng, shortest)
    wanted = result.smallest_normal - ulp * (zero + 1 - tail)
    codes |= _operands(unit, op, formats, scales, rng)
    if op is MultiFpuOp.CONVERT:
        return codes | {"a": _nearest(np.ldexp(sign * wanted, -scales), formats["a"]).astype(np.uint32)}
    product = ulp * np.where(zero == 1, tail, 1 + tail)
    fraction = np.ones(rows) if shortest else rng.uniform(1, 2, rows)
    factor = np.ldexp(fraction, rng.choice(_exponents(formats["a"], formats["b"], result), rows))
    codes["a"] = _nearest(factor, formats["a"]).astype(np.uint32)
    factor = decode_to(codes["a"].astype(formats["a"].dtype), formats["a"], np.float64)
    with np.errstate(divide="ignore"):
        codes["b"] = _nearest(sign * product / factor, formats["b"]).astype(np.uint32)
    return codes | {"c": _nearest(sign * (wanted - product), formats["c"]).astype(np.uint32)}


def _operands_close(
    unit: MultiFpu, op: MultiFpuOp, formats: dict[str, Format], scales: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    # In a quarter of the rows, all exponents are independent. In the other rows, the addend and the result have the
    # product's exponent, and at most two zeros lie between the significands of product and addend. In half of the rows,
    # a factor is subnormal where its format allows this product. Some products are below the result's smallest number,
    # and some addends are 0.
    a, b, c, result = (formats[name] for name in ("a", "b", "c", "result"))
    rows, (low_a, high_a), (low_b, high_b) = len(scales), _finite_exponents(a), _finite_exponents(b)
    lows, highs = zip((low_a + low_b, high_a + high_b), _finite_exponents(c), _finite_exponents(result), strict=True)
    low, high = sorted((max(lows), min(highs)))
    low = max(low_a + low_b, low - result.precision)
    of_a, of_b, of_c = (_often_low(*_finite_exponents(fmt), fmt, rows, rng) for fmt in (a, b, c))
    product = _often_low(low, high, result, rows, rng)
    lowest, highest = np.maximum(low_a, product - high_b), np.minimum(high_a, product - low_b)
    beside = rng.integers(lowest, np.maximum(lowest, highest) + 1)
    shared = np.clip(np.choose(rng.integers(0, 4, rows), [of_a, product - of_b, beside, beside]), lowest, highest)
    away = rng.integers(-max(c.precision, result.precision) - 2, a.precision + b.precision + 2, rows)
    independent = rng.random(rows) < 1 / 4
    exponents = {
        "a": np.where(independent, of_a, shared),
        "b": np.where(independent, of_b, product - shared),
        "c": np.where(independent, of_c, product - away),
    }
    numbers = {name: np.ldexp(_significands(formats[name], rows, rng), each) for name, each in exponents.items()}
    numbers["c"] = np.where(rng.random(rows) < 1 / 16, np.copysign(0, numbers["c"]), numbers["c"])
    return {name: _nearest(number, formats[name]).astype(np.uint32) for name, number in numbers.items()}


def _finite_exponents(fmt: Format) -> tuple[int, int]:
    smallest = decode_to(np.array([fmt.smallest_code], fmt.dtype), fmt, np.float64)[0]
    return math.frexp(smallest)[1] - 1, math.frexp(fmt.max)[1] - 1


def _often_low(low: int, high: int, fmt: Format, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # Exponents from `low` to `high`. In half of the rows, an exponent is so low that it is subnormal in most formats.
    lowest = low + rng.integers(0, min(fmt.precision, high - low + 1), rows)
    return np.where(rng.random(rows) < 1 / 2, lowest, rng.integers(low, high + 1, rows))


def _significands(fmt: Format, rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    # Signed significands. A half of the fractions is random, a quarter has at most two ones, and a quarter has at most
    # two zeros.
    width = fmt.precision - 1
    few = (1 << rng.integers(0, max(width, 1), (2, rows))) & (1 << width) - 1
    sparse, every = few[0] | few[1], rng.integers(0, 1 << width, rows)
    fraction = np.choose(rng.integers(0, 4, rows), [sparse, sparse ^ (1 << width) - 1, every, every])
    significands: NDArray[np.float64] = rng.choice([-1, 1], rows) * (1 + np.ldexp(fraction, -width))
    return significands


def _operands_cancelling(
    unit: MultiFpu, op: MultiFpuOp, formats: dict[str, Format], scales: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    # The addend cancels the product, in most rows except for a relative difference of a random power of two.
    codes, rows = _operands_close(unit, op, formats, scales, rng), len(scales)
    numbers = {name: decode_to(codes[name].astype(formats[name].dtype), formats[name], np.float64) for name in "ab"}
    place = rng.integers(1, formats["a"].precision + formats["b"].precision, rows)
    left = np.where(rng.random(rows) < 3 / 4, rng.choice([-1, 1], rows) * np.ldexp(1.0, -place), 0)
    sign = 1 if op in (MultiFpuOp.FMSUB, MultiFpuOp.FNMSUB) else -1
    addend = sign * numbers["a"] * numbers["b"] * (1 + left)
    return codes | {"c": _nearest(addend, formats["c"]).astype(np.uint32)}


def _carries_across(op: MultiFpuOp, formats: dict[str, Format]) -> bool:
    if op is not MultiFpuOp.FMADD:
        return False
    return all(isinstance(formats[name], FixedFormat) and formats[name].precision > 1 for name in "abc")


def _operands_with_carry(
    unit: MultiFpu, op: MultiFpuOp, formats: dict[str, Format], scales: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    # The addend replaces the product's lowest bits by zeros, with a carry or a borrow across them, or by ones. The
    # addend has few bits, all its bits, or any number. In a quarter of the rows, the product is (1 + 2^-i) (1 + 2^-j),
    # and the addend leaves 1 + 2^-(i+j). In another quarter, the product has few bits, and the addend is a far smaller
    # power of two.
    rows = len(scales)
    codes = _operands(unit, op, formats, scales, rng)
    way = rng.integers(0, 4, rows)
    exponent = np.where(way == _FAR, rng.integers(0, 7, rows), 0)
    short = rng.choice([0.0, 0.5], rows)
    places = {name: rng.integers(1, formats[name].precision, rows) for name in "ab"}
    factors = {}
    for name, place in places.items():
        last = np.ldexp(1.0, -place)
        fraction = np.select([way == _SPARSE, way == _FAR], [last, short], rng.random(rows) // last * last)
        factor = np.ldexp(rng.choice([-1, 1], rows) * (1 + fraction), exponent if name == "a" else 0)
        codes[name] = _nearest(factor, formats[name]).astype(np.uint32)
        factors[name] = decode_to(codes[name].astype(formats[name].dtype), formats[name], np.float64)
    product = factors["a"] * factors["b"]
    width = formats["a"].precision + formats["b"].precision
    ulp = np.ldexp(1.0, 2 - width)
    few, every = [*range(1, 7)] * 2, [formats["c"].precision] * 12
    bits = rng.choice([*range(1, width + 2), *few, *every], rows)
    size = np.ldexp(ulp, bits)
    low = np.abs(product) % size
    addend = np.where(rng.random(rows) < 1 / 2, size - low, -low) + ulp * rng.integers(-1, 2, rows)
    sparse = np.ldexp(1.0, -places["a"] - places["b"]) + 1 - np.abs(product)
    distance = rng.choice([*range(1, width), *range(width, width + 8)] + [*range(width, width + 8)] * 2, rows)
    far = rng.choice([-1, 1], rows) * np.ldexp(1.0, exponent - distance)
    addend = np.select([way == _SPARSE, way == _FAR], [sparse, far], addend)
    return codes | {"c": _nearest(np.sign(product) * addend, formats["c"]).astype(np.uint32)}


def _rounded_away(
    unit: MultiFpu, rows: int, rng: np.random.Generator, shortest: bool
) -> tuple[dict[str, NDArray[np.uint32]], NDArray[np.int64], NDArray[np.float64]]:
    # Select values of rounding modes, and signs and tails (fractions of an ulp) of numbers that these modes round away
    # from zero.
    sign, rounding = rng.choice([-1, 1], rows), np.zeros(rows, np.int64)
    modes = [index for index, mode in enumerate(unit.roundings) if mode in _AWAY_BY_SIGN]
    if modes:
        rounding = rng.choice(modes, rows)
    by_mode = np.array([_AWAY_BY_SIGN.get(mode, 0) for mode in unit.roundings])[rounding]
    bit = np.ldexp(1.0, -rng.choice(_SHORTEST_TAILS, rows))
    tail = bit + np.where(by_mode == 0, 1 / 2, 0) if shortest else np.full(rows, _TAIL)
    selects = {"rounding": rounding.astype(np.uint32)} if len(unit.roundings) > 1 and modes else {}
    return selects, np.where(by_mode == 0, sign, by_mode), tail


def _carries(unit: MultiFpu, rows: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    # Half of the random numbers just carry or just do not carry from a fraction of 0, 1/4, 1/2 or 3/4 ulp.
    limits = (np.arange(5) << unit.random_bits >> 2)[rng.integers(0, 5, rows)] - rng.integers(0, 2, rows)
    drawn = rng.integers(0, 1 << unit.random_bits, rows)
    return np.where(rng.random(rows) < 1 / 2, np.clip(limits, 0, (1 << unit.random_bits) - 1), drawn).astype(np.uint32)


def _is_packed(op: MultiFpuOp, operand: str) -> bool:
    return (op is MultiFpuOp.FROM_INTEGER and operand == "a") or (op in DOTS and operand in "ab")


def _dot_operands(
    unit: MultiFpu, products: int, formats: dict[str, Format], rows: int, rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    narrow = {name: formats[name] if formats[name] in unit.narrow else unit.narrow[-1] for name in "ab"}
    codes = {name: rng.choice(_pool(fmt), (products, rows)).astype(np.uint32) for name, fmt in narrow.items()}
    negated = rng.random(rows) < 1 / 3
    codes["a"][1] = np.where(negated, codes["a"][0] ^ (1 << narrow["a"].bits - 1), codes["a"][1])
    codes["b"][1] = np.where(negated, codes["b"][0] ^ (rng.random(rows) < 1 / 2), codes["b"][1])
    numbers = {name: decode_to(codes[name].astype(fmt.dtype), fmt, np.float64) for name, fmt in narrow.items()}
    with np.errstate(all="ignore"):
        wanted = np.where(rng.random(rows) < 1 / 4, 0.0, _wanted(formats["result"], rows, rng))
        led = _nearest(wanted - (numbers["a"] * numbers["b"]).sum(axis=0), formats["c"])
    c = np.where(np.arange(rows) % 4 != 0, led, rng.choice(_pool(formats["c"]), rows)).astype(np.uint32)
    shifts = NARROW_BITS * np.arange(products, dtype=np.uint32)[:, None]
    packed = {name: np.bitwise_or.reduce(lanes << shifts, axis=0) for name, lanes in codes.items()}
    return packed | {"c": c}


def _integers(unit: MultiFpu, result: Format, rows: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    powers = np.array([1 << bit for bit in range(unit.word + 1)]) * rng.choice([-1, 1], unit.word + 1)
    with np.errstate(invalid="ignore"):
        wanted = np.clip(_wanted(result, rows, rng), -(2.0**31), 2.0**31).astype(np.int64)
    near = np.where(rng.random(rows) < 0.5, wanted, rng.choice(powers, rows)) + rng.integers(-1, 2, rows)
    return (near & ((1 << unit.word) - 1)).astype(np.uint32)


def _near_integers(unit: MultiFpu, rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    limits = [limit for integer in unit.integers for limit in (integer.lowest, integer.highest)]
    small = rng.integers(-9, 10, rows) * 2.0 ** rng.integers(0, unit.word - 3, rows)
    whole = np.where(rng.random(rows) < 0.5, rng.choice(limits, rows), small)
    near: NDArray[np.float64] = whole + rng.choice([-1, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1], rows)
    return np.where(rng.random(rows) < 1 / 8, rng.choice([-np.inf, np.inf], rows), near)


def _leading(
    op: MultiFpuOp,
    formats: dict[str, Format],
    codes: dict[str, NDArray[np.uint32]],
    last: str,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    result, rows = formats["result"], len(codes["a"])
    numbers = {
        name: decode_to(code.astype(formats[name].dtype), formats[name], np.float64) for name, code in codes.items()
    }
    with np.errstate(all="ignore"):
        wanted = _wanted(result, rows, rng)
        if last == "a":
            return wanted**2 if op is MultiFpuOp.SQRT else wanted
        if last == "b":
            return np.asarray(wanted / numbers["a"] if op is MultiFpuOp.MUL else numbers["a"] / wanted)
        product = numbers["a"] * numbers["b"] if op in PRODUCTS else numbers["a"]
        if op in (MultiFpuOp.FNMSUB, MultiFpuOp.FNMADD):
            product = -product
        wanted = np.where(rng.random(rows) < 1 / 4, 0.0, wanted)
        addend: NDArray[np.float64] = wanted - product
        return -addend if op in (MultiFpuOp.FMSUB, MultiFpuOp.FNMADD, MultiFpuOp.SUB) else addend


def _wanted(result: Format, rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    codes = rng.choice(_pool(result), rows).astype(np.int64)
    here, there = (
        decode_to((code & ((1 << result.bits) - 1)).astype(result.dtype), result, np.float64)
        for code in (codes, codes ^ 1)
    )
    distance = there - here
    middle = rng.choice([0.0, 0.5, 1.0], rows)
    beside = rng.choice(_BESIDE, rows)
    wanted = here + distance * (middle + beside)
    return np.where(np.isfinite(wanted), wanted, result.max * rng.choice([1.0, 1.03, 2.0], rows))


@functools.lru_cache(maxsize=64)
def _pool(fmt: Format) -> NDArray[np.uint32]:
    telling = np.array(classes(fmt), np.uint32)
    if isinstance(fmt, FixedFormat) and fmt.bits > NARROW_BITS:
        others = walking_codes(fmt).astype(np.uint32)
    else:
        others = np.arange(1 << fmt.bits, dtype=np.uint32)
    return np.concatenate([others, np.resize(telling, len(others) // 2)])


@functools.lru_cache(maxsize=64)
def _often_special(fmt: Format) -> NDArray[np.uint32]:
    # One code of each class, and as many codes of zeros, infinities and NaN.
    codes = np.array(classes(fmt), np.uint32)
    numbers = decode_to(codes.astype(fmt.dtype), fmt, np.float64)
    return np.concatenate([codes, np.resize(codes[~np.isfinite(numbers) | (numbers == 0)], len(codes))])


def _boxed(
    unit: MultiFpu, formats: dict[str, Format], codes: dict[str, NDArray[np.uint32]], rng: np.random.Generator
) -> Inputs:
    # A few operations have random bits above the operand code although the unit expects NaN boxing.
    columns = {}
    for name, column in codes.items():
        above = (1 << unit.word) - (1 << formats[name].bits)
        drawn = rng.integers(0, 1 << unit.word, len(column), dtype=np.uint64) & above
        boxed = unit.nan_boxing & (rng.random(len(column)) >= _SHARE_UNBOXED)
        columns[name] = (column | np.where(boxed, above, drawn)).astype(np.uint32)
    return columns
