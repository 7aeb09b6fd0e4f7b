"""Corner-case and random operations of a `multi_fpu` unit.

The last operand of most operations is computed, so that the exact result is at or next to a rounding boundary of the
result format.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_to, encode
from fp9.formats import FixedFormat, Format
from fp9.suites.columns import Inputs, classes, concatenated, drawn_port, walking_codes
from fp9.units import SCALE_BITS, MultiFpu, MultiFpuOp
from fp9.units.multi_fpu import DOTS, NARROW_BITS, PRODUCTS, ROUNDED, SINGLES

# Maximum number of format combinations per operation in the corner suite.
BLOCKS = 40

# Number of operations in a block, which have the same operation code and the same formats.
ROWS = 24

# Operand that is computed from a wanted result. Operations that are not listed compute operand c.
_LAST = {MultiFpuOp.CONVERT: "a", MultiFpuOp.SQRT: "a", MultiFpuOp.MUL: "b", MultiFpuOp.DIV: "b"}
_SHARE_UNBOXED = 1 / 16
# Distances between the codes of two compared operands.
_AWAY = (0, 0, 0, 1, -1, 1, -1, 2, -2, 3, -3, 4, -4, 8, -8, 16, -16)
_SCALES = (0, 0, 1, -1, 7, -7, 24, -24, 127, -128)
# Offsets from a code or midpoint, as fractions of the distance between two codes.
_BESIDE = np.array([0.0, 2.0**-30, -(2.0**-30), 0.25, -0.25])


def multi_corner(unit: MultiFpu, rng: np.random.Generator) -> Inputs:
    whole = concatenated([*_blocks(unit, rng, BLOCKS, ROWS)])
    if not unit.lane_widths:
        return whole
    lanes = [_in_lanes(unit, width, value, rng) for value, width in enumerate(unit.lane_widths, 1)]
    return concatenated([whole | {"vector": np.zeros_like(whole["vector"])}, *lanes])


def multi_random(unit: MultiFpu, count: int, rng: np.random.Generator) -> Inputs:
    """Return random operations of a `multi_fpu` unit, of which half are sampled from the corner suite."""
    drawn = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    corner = multi_corner(unit, rng)
    rows = rng.integers(0, len(corner["a"]), count)
    taken = rng.random(count) < 0.5
    return {name: np.where(taken, corner[name][rows], column) for name, column in drawn.items()}


def _in_lanes(unit: MultiFpu, width: int, vector: int, rng: np.random.Generator) -> Inputs:
    lane = concatenated([*_blocks(unit.lane_units[width], rng, BLOCKS, ROWS)])
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


def _blocks(unit: MultiFpu, rng: np.random.Generator, blocks: int, rows: int) -> Iterator[Inputs]:
    names = (*unit.operands, "result")
    ports = list(dict.fromkeys(unit.format_port(name) for name in names))
    combinations = list(itertools.product(range(len(unit.formats)), repeat=len(ports)))
    for index, op in enumerate(unit.operations):
        order = rng.permutation(len(combinations))[:blocks]
        for combination in (combinations[place] for place in order):
            selects = dict(zip(ports, combination, strict=True))
            formats = {name: unit.formats[selects[unit.format_port(name)]] for name in names}
            columns = {port.name: drawn_port(port, rows, rng) for port in unit.inputs}
            columns |= {name: _carries(unit, rows, rng) for name in unit.random_ports}
            columns |= {name: np.full(rows, value, np.uint32) for name, value in selects.items() if name in columns}
            if "op" in columns:
                columns["op"] = np.full(rows, index, np.uint32)
            scales = np.zeros(rows, np.int64)
            if op is MultiFpuOp.CONVERT and unit.scale:
                scales = rng.choice(_SCALES, rows)
                columns["scale"] = (scales & ((1 << SCALE_BITS) - 1)).astype(np.uint32)
            codes = _operands(unit, op, formats, scales, rng)
            boxed = {name: fmt for name, fmt in formats.items() if name in codes and not _is_packed(op, name)}
            yield columns | codes | _boxed(unit, boxed, {name: codes[name] for name in boxed}, rng)


def _nearest(numbers: NDArray[np.float64], fmt: Format) -> NDArray[Any]:
    return encode(numbers, fmt, "rne", nan_to_zero=not fmt.has_nan)


def _operands(
    unit: MultiFpu, op: MultiFpuOp, formats: dict[str, Format], scales: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    # A conversion multiplies its operand by 2^scale, so the operand is the wanted number divided by 2^scale.
    rows = len(scales)
    codes = {name: rng.choice(_pool(formats[name]), rows).astype(np.uint32) for name in unit.operands}
    chosen = np.arange(rows) % 4 != 0
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
        same = _nearest(decode_to(codes["a"].astype(formats["a"].dtype), formats["a"], np.float64), fmt)
        moved = same.astype(np.int64) + rng.choice(_AWAY, rows) ^ rng.choice([0, 1 << fmt.bits - 1], rows)
        codes["c"] = np.where(chosen, moved & ((1 << fmt.bits) - 1), codes["c"]).astype(np.uint32)
    return codes


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
