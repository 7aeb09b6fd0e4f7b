"""Operands of a multi-format FPU's operations.

In most operations, the last operand is chosen so that the exact result is at or next to a rounding boundary of the
result format.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
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


class Formats:
    """The format of one operand in every row. The properties are arrays, shape (rows,)."""

    def __init__(self, offered: Sequence[Format], index: NDArray[np.int64]) -> None:
        self._offered, self._index = offered, index

    def of_each(self, what: Callable[[Format], float]) -> NDArray[Any]:
        """Return a property of each row's format."""
        return np.array([what(fmt) for fmt in self._offered])[self._index]

    @property
    def bits(self) -> NDArray[np.int64]:
        return self.of_each(lambda fmt: fmt.bits)

    @property
    def precision(self) -> NDArray[np.int64]:
        return self.of_each(lambda fmt: fmt.precision)

    @property
    def max(self) -> NDArray[np.float64]:
        return self.of_each(lambda fmt: fmt.max)

    @property
    def min_normal_exponent(self) -> NDArray[np.int64]:
        return self.of_each(lambda fmt: fmt.min_normal_exponent)

    @property
    def smallest_normal(self) -> NDArray[np.float64]:
        return self.of_each(lambda fmt: fmt.smallest_normal)

    def within(self, allowed: Sequence[Format]) -> Formats:
        """Replace each format that is not allowed by the last allowed one."""
        last = self._offered.index(allowed[-1])
        places = [place if fmt in allowed else last for place, fmt in enumerate(self._offered)]
        return Formats(self._offered, np.array(places)[self._index])

    def nearest(self, numbers: NDArray[np.float64]) -> NDArray[np.uint32]:
        """Return the codes of the nearest numbers in the formats."""
        return self._by_format(
            np.uint32, lambda fmt, rows: encode(numbers[rows], fmt, "rne", nan_to_zero=not fmt.has_nan)
        )

    def numbers(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        return self._by_format(np.float64, lambda fmt, rows: decode_to(codes[rows].astype(fmt.dtype), fmt, np.float64))

    def drawn(self, pool: Callable[[Format], NDArray[np.uint32]], rng: np.random.Generator) -> NDArray[np.uint32]:
        """Return random codes from the pool of each row's format."""
        return self._by_format(np.uint32, lambda fmt, rows: rng.choice(pool(fmt), len(rows)))

    def _by_format(self, dtype: Any, found: Callable[[Format, NDArray[np.intp]], NDArray[Any]]) -> NDArray[Any]:
        column = np.empty(len(self._index), dtype)
        for place, fmt in enumerate(self._offered):
            (rows,) = np.nonzero(self._index == place)
            if len(rows):
                column[rows] = found(fmt, rows)
        return column


def general(
    unit: MultiFpu, op: MultiFpuOp, formats: dict[str, Formats], scales: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    # A conversion multiplies its operand by 2^scale, so the operand is the wanted number divided by 2^scale.
    rows = len(scales)
    # In a quarter of the rows, each operand is of a random class, so that special operands meet.
    chosen = np.arange(rows) % 4 != 0
    codes = {
        name: np.where(chosen, formats[name].drawn(_pool, rng), formats[name].drawn(_often_special, rng))
        for name in unit.operands
    }
    if op in DOTS:
        return _dot_operands(unit, DOTS[op], formats, rows, rng)
    if op is MultiFpuOp.FROM_INTEGER:
        return codes | {"a": _integers(unit, formats["result"], rows, rng)}
    if op is MultiFpuOp.TO_INTEGER:
        codes["a"] = np.where(chosen, formats["a"].nearest(_near_integers(unit, rows, rng)), codes["a"])
    elif op in ROUNDED:
        last = _LAST.get(op, "c")
        led = formats[last].nearest(np.ldexp(_leading(op, formats, codes, last, rng), -scales))
        codes[last] = np.where(chosen, led, codes[last])
    elif op not in SINGLES:
        fmt = formats["a"] if op.value.startswith(("sgnj", "min", "max")) else formats["c"]
        # The codes have a small distance, differ in one bit, or are equal, apart from the sign.
        special = formats["a"].drawn(_often_special, rng)
        codes["a"] = np.where(rng.random(rows) < 1 / 2, special, codes["a"])
        same = fmt.nearest(formats["a"].numbers(codes["a"]))
        way, sign = rng.integers(0, 3, rows), rng.integers(0, 2, rows) << fmt.bits - 1
        bit = np.where(way == 0, 1 << rng.integers(0, fmt.bits, rows), 0)
        moved = same.astype(np.int64) + np.where(way == 1, rng.choice(_AWAY, rows), 0) ^ bit ^ sign
        codes["c"] = np.where(chosen, moved & ((1 << fmt.bits) - 1), codes["c"]).astype(np.uint32)
    return codes


def _dot_operands(
    unit: MultiFpu, products: int, formats: dict[str, Formats], rows: int, rng: np.random.Generator
) -> dict[str, NDArray[np.uint32]]:
    narrow = {name: formats[name].within(unit.narrow) for name in "ab"}
    codes = {name: np.stack([fmt.drawn(_pool, rng) for _ in range(products)]) for name, fmt in narrow.items()}
    negated = rng.random(rows) < 1 / 3
    codes["a"][1] = np.where(negated, codes["a"][0] ^ (1 << narrow["a"].bits - 1), codes["a"][1])
    codes["b"][1] = np.where(negated, codes["b"][0] ^ (rng.random(rows) < 1 / 2), codes["b"][1])
    numbers = {name: np.stack([fmt.numbers(each) for each in codes[name]]) for name, fmt in narrow.items()}
    with np.errstate(all="ignore"):
        wanted = np.where(rng.random(rows) < 1 / 4, 0.0, _wanted(formats["result"], rows, rng))
        led = formats["c"].nearest(wanted - (numbers["a"] * numbers["b"]).sum(axis=0))
    c = np.where(np.arange(rows) % 4 != 0, led, formats["c"].drawn(_pool, rng))
    shifts = NARROW_BITS * np.arange(products, dtype=np.uint32)[:, None]
    packed = {name: np.bitwise_or.reduce(lanes << shifts, axis=0) for name, lanes in codes.items()}
    return packed | {"c": c}


def _integers(unit: MultiFpu, result: Formats, rows: int, rng: np.random.Generator) -> NDArray[np.uint32]:
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
    formats: dict[str, Formats],
    codes: dict[str, NDArray[np.uint32]],
    last: str,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    rows = len(codes["a"])
    with np.errstate(all="ignore"):
        wanted = _wanted(formats["result"], rows, rng)
        if last == "a":
            return wanted**2 if op is MultiFpuOp.SQRT else wanted
        a = formats["a"].numbers(codes["a"])
        if last == "b":
            return np.asarray(wanted / a if op is MultiFpuOp.MUL else a / wanted)
        product = a * formats["b"].numbers(codes["b"]) if op in PRODUCTS else a
        if op in (MultiFpuOp.FNMSUB, MultiFpuOp.FNMADD):
            product = -product
        wanted = np.where(rng.random(rows) < 1 / 4, 0.0, wanted)
        addend: NDArray[np.float64] = wanted - product
        return -addend if op in (MultiFpuOp.FMSUB, MultiFpuOp.FNMADD, MultiFpuOp.SUB) else addend


def _wanted(result: Formats, rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    codes = result.drawn(_pool, rng)
    here, there = result.numbers(codes), result.numbers(codes ^ 1)
    distance = there - here
    middle = rng.choice([0.0, 0.5, 1.0], rows)
    beside = rng.choice(_BESIDE, rows)
    wanted = here + distance * (middle + beside)
    return np.asarray(np.where(np.isfinite(wanted), wanted, result.max * rng.choice([1.0, 1.03, 2.0], rows)))


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
