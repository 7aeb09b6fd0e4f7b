"""Dot products by the general kernel, which supports every accumulator model."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.random_bits import RandomBits, check_integers, source_of_bits
from fp9.casts.sources import check_integer, read_only
from fp9.casts.tables import Rows, Target, decode_table, rounding_rows, rounding_target
from fp9.engines import Engine, Truncation
from fp9.formats import FixedFormat, Format, pow2
from fp9.formats.host import BINARY64
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import NanSign, Overflow, Rounding
from fp9.kernels import engine_steps as sum_kernels
from fp9.kernels.fused import Result
from fp9.kernels.limbs import LIMB_BITS
from fp9.sums.operands import Span, bit_range
from fp9.sums.sides import NO_POWERS, Places, Side, some_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fp9.casts.random_bits import Rng

HEADROOM_BITS = 32
"""Number of accumulator bits above the largest product. They hold the carries of up to 2^32 products."""


def rounding_of(
    fmt: Format, rounding: Rounding, overflow: Overflow = Overflow.INF
) -> tuple[NDArray[np.int64], NDArray[np.uint32], Target, int]:
    """Return a rounding kernel's arguments: the arrays `binades` and `order`, the target, and the mode number."""
    from fp9.kernels import round64 as kernels  # slow to load

    rows: Rows = rounding_rows(fmt)
    target = rounding_target(fmt, CastPolicy(overflow=Overflow.INF))
    canonical = (target.nan[0], target.nan[0])
    if target.infinite[0] == target.nan[0]:  # the NaN code also means infinity, and the canonical NaN has no sign
        target = target._replace(infinite=canonical, overflow=canonical)
    target = target._replace(nan=canonical)
    if overflow is not Overflow.INF:
        own = rounding_target(fmt, CastPolicy(rounding, overflow, nan_sign=NanSign.LOST))
        target = target._replace(overflow=own.overflow)
    return rows.binades, rows.order, target, kernels.MODES[rounding]


def step_rounding(engine: Engine) -> Result:
    ends = (engine.result.overflow, engine.result.flush, *engine.nans_of_steps)
    return _rounding(engine.result.format, engine.result.rounding, *ends)


def output_rounding(engine: Engine) -> Result:
    ends = (engine.result.overflow, engine.result.flush, engine.nan.code, engine.nan.invalid_code)
    return _rounding(engine.output, engine.output_rounding, *ends)


@functools.lru_cache(maxsize=256)
def _rounding(
    fmt: FixedFormat,
    mode: Rounding,
    overflow: Overflow,
    flushes: bool,
    own_nan: int | None,
    invalid_nan: int | None,
) -> Result:
    rows, order, target, number = rounding_of(fmt, mode, overflow)
    nan = target.nan[0] if own_nan is None else own_nan
    target = target._replace(nan=(nan, nan if invalid_nan is None else invalid_nan))
    if flushes:
        target = target._replace(flushed_below=fmt.code_of(pow2(fmt.min_normal_exponent)))
    return Result(rows, order, target, number, decode_table(fmt))


@functools.lru_cache(maxsize=256)
def engine_numbers(engine: Engine, products: range) -> tuple[sum_kernels.Sums, int]:
    """Return an accumulator model's parameters for the kernels, and the number of 32-bit limbs of an exact sum."""
    addend_lowest, addend_highest = bit_range(engine.addend_format)
    base = min(products.start, addend_lowest)
    top = max(products.stop, addend_highest + 1) + HEADROOM_BITS
    numbers = sum_kernels.Sums(
        products=engine.step.products,
        chunk=engine.chunk.length or 0,
        joins=engine.chunk.length is not None,
        exact=engine.step.exact,
        window=engine.window.width or 0,
        floors=engine.window.truncation is Truncation.FLOOR,
        truncation=sum_kernels.TRUNCATIONS[engine.window.truncation],
        addend=sum_kernels.ADDENDS[engine.window.addend],
        zero_power=0.0 if engine.window.zero_exponent is None else 2.0**engine.window.zero_exponent,
        interleaved=engine.window.interleaved or 0,
        lowest_power=2.0**engine.result.format.min_normal_exponent,
        bypass_a=False,
        bypass_b=False,
        base=base,
        addend_floor=_floor(engine, engine.result.format),
        total_floor=_floor(engine, engine.output),
        infinity_run=engine.nan.infinity_run or 0,
    )
    return numbers, (top - base) // LIMB_BITS + 4


def _floor(engine: Engine, addend: Format) -> float:
    return 2.0**addend.min_normal_exponent if engine.result.flush_addend else 0.0


@functools.lru_cache(maxsize=256)
def kernel_sums(engine: Engine, a: Span, b: Span, depth: int, joins: bool) -> tuple[sum_kernels.Sums, int]:
    sums, limbs = engine_numbers(engine, range(a.lowest + b.lowest, a.highest + b.highest + 2))
    return sums._replace(
        chunk=engine.chunk.length or max(depth, 1),
        joins=joins,
        bypass_a=engine.nan.zero_bypass and a.format.nan_is_inf,
        bypass_b=engine.nan.zero_bypass and b.format.nan_is_inf,
    ), limbs


class GeneralSums:
    """Dot products of the rows of two operands, by the general kernel."""

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        self._a, self._b = a, b
        self.result, self._output = step_rounding(engine), output_rounding(engine)
        self.sums, self._limb_count = kernel_sums(engine, a.span, b.span, a.depth, joins)

    def limbs(self) -> NDArray[np.int64]:
        return np.zeros(self._limb_count, dtype=np.int64)

    def run(
        self,
        rows_a: Places,
        rows_b: Places,
        start: NDArray[np.float64],
        scales: NDArray[np.float64],
        random: RandomBits,
        codes: NDArray[Any],
        flags: NDArray[np.uint8],
    ) -> None:
        values = some_rows(self._a.values, rows_a), some_rows(self._b.values, rows_b)
        powers = some_rows(self._a.powers, rows_a), some_rows(self._b.powers, rows_b)
        self.sum_rows(values, powers, start, scales, random, codes, flags)

    def sum_rows(
        self,
        values: tuple[NDArray[np.float64], NDArray[np.float64]],
        powers: tuple[NDArray[np.float64], NDArray[np.float64]],
        start: NDArray[np.float64],
        scales: NDArray[np.float64],
        random: RandomBits,
        codes: NDArray[Any],
        flags: NDArray[np.uint8],
    ) -> None:
        wide = np.empty(codes.shape, dtype=np.uint32)
        sum_kernels.sum_rows(
            self.result,
            self._output,
            self.sums,
            sum_kernels.Terms(*read_only(*values, *powers)),
            *read_only(start, scales),
            (*read_only(random.values), random.width),
            self.limbs(),
            wide,
            flags,
        )
        codes[...] = wide


def rounded_addends(
    engine: Engine, start: NDArray[np.float64], random: RandomBits
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Round addends (n,) to an exact accumulator's output format. Return the codes (n,) and exception flags (n,)."""
    sums, limbs = engine_numbers(engine, range(1))
    codes, flags = np.empty(start.shape, dtype=np.uint32), np.empty(start.shape, dtype=np.uint8)
    terms = sum_kernels.Terms(*read_only(np.zeros((1, 0)), np.zeros((start.size, 0)), NO_POWERS, NO_POWERS))
    sum_kernels.sum_rows(
        step_rounding(engine),
        output_rounding(engine),
        sums,
        terms,
        *read_only(start, np.ones((1, 1))),
        (*read_only(random.values), random.width),
        np.zeros(limbs, dtype=np.int64),
        codes,
        flags,
    )
    return codes.astype(engine.output.dtype), flags


def stochastic_bits(
    engine: Engine, given: tuple[ArrayLike | None, int, Rng | None], shape: tuple[int, ...]
) -> RandomBits:
    bits, width, rng = given
    source = source_of_bits(bits, rng, f"engine {engine.name} with rounding {engine.result.rounding.value}")
    largest = BINARY64.fraction_bits - engine.result.format.precision
    check_integer("random_width", width, 1, largest, f" for results in {engine.result.format.name}")
    if isinstance(source, np.random.Generator):
        return RandomBits(source.integers(0, 1 << width, (math.prod(shape[:-1]), shape[-1])), width)
    array = np.asarray(source)
    check_integers(array, width, shape)
    array = array.astype(np.int64)
    return RandomBits(array.reshape(1, 1) if array.ndim == 0 else array.reshape(-1, shape[-1]), width)
