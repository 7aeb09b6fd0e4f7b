"""Operands of a multi-format FPU's operations.

In most operations, the last operand is chosen so that the exact result is at or next to a rounding boundary of the
result format.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_to, encode
from fp9.formats import FixedFormat, Format
from fp9.suites.columns import classes, walking_codes
from fp9.units import MultiFpu, MultiFpuOp
from fp9.units.multi_fpu import DOTS, NARROW_BITS, PRODUCTS, ROUNDED, SINGLES

# Operand that is computed from a wanted result. Operations that are not listed compute operand c.
_LAST = {MultiFpuOp.CONVERT: "a", MultiFpuOp.SQRT: "a", MultiFpuOp.MUL: "b", MultiFpuOp.DIV: "b"}

# Distances between the codes of two compared operands.
_AWAY = (0, 0, 0, 1, -1, 1, -1, 2, -2, 3, -3, 4, -4, 8, -8, 16, -16)

# Offsets from a code or midpoint, as fractions of the distance between two codes.
_BESIDE = np.array([0.0, 2.0**-30, -(2.0**-30), 0.25, -0.25])


def nearest(numbers: NDArray[np.float64], fmt: Format) -> NDArray[Any]:
    return encode(numbers, fmt, "rne", nan_to_zero=not fmt.has_nan)


def general(
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
        led = nearest(_near_integers(unit, rows, rng), formats["a"])
        codes["a"] = np.where(chosen, led, codes["a"]).astype(np.uint32)
    elif op in ROUNDED:
        last = _LAST.get(op, "c")
        led = nearest(np.ldexp(_leading(op, formats, codes, last, rng), -scales), formats[last])
        codes[last] = np.where(chosen, led, codes[last]).astype(np.uint32)
    elif op not in SINGLES:
        fmt = formats["a"] if op.value.startswith(("sgnj", "min", "max")) else formats["c"]
        # The codes have a small distance, differ in one bit, or are equal, apart from the sign.
        special = rng.choice(_often_special(formats["a"]), rows).astype(np.uint32)
        codes["a"] = np.where(rng.random(rows) < 1 / 2, special, codes["a"])
        same = nearest(decode_to(codes["a"].astype(formats["a"].dtype), formats["a"], np.float64), fmt)
        way, sign = rng.integers(0, 3, rows), rng.choice([0, 1 << fmt.bits - 1], rows)
        bit = np.where(way == 0, 1 << rng.integers(0, fmt.bits, rows), 0)
        moved = same.astype(np.int64) + np.where(way == 1, rng.choice(_AWAY, rows), 0) ^ bit ^ sign
        codes["c"] = np.where(chosen, moved & ((1 << fmt.bits) - 1), codes["c"]).astype(np.uint32)
    return codes


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
        led = nearest(wanted - (numbers["a"] * numbers["b"]).sum(axis=0), formats["c"])
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
