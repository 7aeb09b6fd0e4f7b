"""Matrix products by the vectorised kernels: which engine and operands each of them is right for."""

from __future__ import annotations

import abc
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import encode
from fp9.engines import Engine
from fp9.formats import FixedFormat, Format, Kind
from fp9.formats.host import BINARY32, BINARY64
from fp9.kernels import matrices as matmul_kernels
from fp9.kernels import windows as window_kernels
from fp9.kernels.floats import Rounder
from fp9.rounding import Overflow, Rounding
from fp9.sums.general import GeneralSums
from fp9.sums.operands import Operand, some_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


class FastSums(abc.ABC):
    """An engine and two operands, a (m, k) and b (n, k), made ready for products of rows of a with all of b."""

    carrier: type[np.floating[Any]] = np.float64

    def __init__(self, engine: Engine, a: Operand, b: Operand, joins: bool) -> None:
        self.engine, self.joins = engine, joins
        self.depth = a.codes.shape[1]
        self.a = np.ascontiguousarray(a.numbers(self.carrier))
        self.b = np.ascontiguousarray(b.columns(self.carrier))
        self._scales = a.at_sums, b.at_sums

    @staticmethod
    @abc.abstractmethod
    def fits(engine: Engine, a: Operand, b: Operand) -> bool:
        """Whether the kernel gives the engine's bits for these operands."""

    @abc.abstractmethod
    def accumulate(self, rows: slice, acc: NDArray[Any], begin: int, end: int) -> None:
        """Carry accumulators (rows, n) through the products begin..end-1."""

    def run(self, rows: slice, start: NDArray[np.float64]) -> NDArray[Any]:
        """The sums of some rows from the numbers `start` (rows, n), as numbers."""
        if not self.joins:
            acc = start.astype(self.carrier)
            self.accumulate(rows, acc, 0, self.depth)
            return acc
        totals = start.copy()
        length = self.engine.chunk or self.depth
        for chunk, begin in enumerate(range(0, self.depth, length)):
            acc = np.zeros(start.shape, dtype=self.carrier)
            self.accumulate(rows, acc, begin, min(begin + length, self.depth))
            scale_a, scale_b = (scales[:, min(chunk, scales.shape[1] - 1)] for scales in self._scales)
            matmul_kernels.join(
                totals,
                acc.astype(np.float64),
                np.ascontiguousarray(some_rows(scale_a, rows)),
                np.ascontiguousarray(np.broadcast_to(scale_b, totals.shape[1:])),
                rounder(self.engine.output, self.engine.output_rounding, np.float64),
            )
        return totals


def _product_bits(a: Operand, b: Operand) -> int:
    return a.format.precision + b.format.precision


def _is_in_float32(a: Operand, b: Operand) -> bool:
    """Whether float32 holds every finite product."""
    in_range = a.lowest + b.lowest >= BINARY32.lowest_quantum and a.highest + b.highest + 1 <= BINARY32.bias
    parts = all(x.lowest >= BINARY32.lowest_quantum and x.highest <= BINARY32.bias for x in (a, b))
    return in_range and parts and _product_bits(a, b) <= BINARY32.precision


class Chain(FastSums):
    """FP32 multiply-add: the products are exact in float32, and its addition is the engine's."""

    carrier = np.float32

    @staticmethod
    def fits(engine: Engine, a: Operand, b: Operand) -> bool:
        plain = _is_exact(engine) and engine.products == 1
        return (
            plain
            and engine.result.native_dtype == "float32"
            and engine.rounding is Rounding.RNE
            and _is_in_float32(a, b)
        )

    def accumulate(self, rows: slice, acc: NDArray[Any], begin: int, end: int) -> None:
        matmul_kernels.chain(self.a[rows], self.b, acc, begin, end)


def _is_exact(engine: Engine) -> bool:
    """Whether steps sum exactly."""
    return engine.window is None and not engine.whole


def can_round(result: Format, rounding: Rounding) -> bool:
    """Whether the vector rounder knows the rounding: toward zero, or to nearest, but ties away among subnormals."""
    if not isinstance(result, FixedFormat):
        return False
    known = {Rounding.RNE: True, Rounding.RNA: result.flushes, Rounding.RTZ: not result.flushes}
    return known.get(rounding, False)


def rounder(result: Format, rounding: Rounding, carrier: type[np.floating[Any]]) -> Rounder:
    """Rounding into a format inside float32 (to nearest) or float64."""
    assert isinstance(result, FixedFormat)
    fraction_bits = np.finfo(carrier).nmant
    integer = np.uint32 if carrier is np.float32 else np.int64
    every = (1 << 32) - 1 if carrier is np.float32 else -1
    drop = fraction_bits - result.fraction_bits
    to_even, truncates = rounding is Rounding.RNE, rounding is Rounding.RTZ
    limit, magic, steps = _lowest_numbers(result, to_even, carrier)
    return Rounder(
        drop=integer(drop),
        bias=integer(0 if truncates else (1 << (drop - 1)) - to_even),
        tie=integer(to_even),
        mask=integer(every & ~((1 << drop) - 1)),
        limit=limit,
        magic=magic,
        steps=steps if truncates else carrier(0),
        largest=carrier(result.max),
        overflow=carrier(np.inf if result.has_inf else np.nan),
    )


def _lowest_numbers(result: FixedFormat, to_even: bool, carrier: type[np.floating[Any]]) -> tuple[Any, Any, Any]:
    """Below which magnitude to add and subtract what, or truncate to which steps, for the format's lowest numbers."""
    if result.subnormals:
        quantum = result.quantum(result.lowest_exponent)
        if carrier is np.float32 and result.lowest_exponent == np.finfo(np.float32).minexp:
            return carrier(0), carrier(0), carrier(0)  # the carrier's own subnormals
        magic = carrier(2.0 ** (quantum + np.finfo(carrier).nmant))
        return carrier(2.0**result.lowest_exponent), magic, carrier(2.0**-quantum)
    # Zero takes the place of 2^lowest, and what rounds to it vanishes beside a magic number far above.
    limit = carrier(2.0**result.lowest_exponent * (1 + 2.0 ** -(result.fraction_bits + 1)))
    magic = carrier(2.0 ** (result.lowest_exponent + np.finfo(carrier).nmant + 2))
    return np.nextafter(limit, carrier(1)) if to_even else limit, magic, carrier(1)


class RoundedChain(FastSums):
    """One product a step and a result of at most 11 bits, carried in float32."""

    carrier = np.float32

    def __init__(self, engine: Engine, a: Operand, b: Operand, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._rounder = rounder(engine.result, engine.rounding, np.float32)

    @staticmethod
    def fits(engine: Engine, a: Operand, b: Operand) -> bool:
        precision = engine.result.precision
        narrow = 2 * precision + 2 <= BINARY32.precision and _product_bits(a, b) <= precision
        to_nearest = engine.rounding is not Rounding.RTZ
        return _is_exact(engine) and engine.products == 1 and to_nearest and narrow and _is_in_float32(a, b)

    def accumulate(self, rows: slice, acc: NDArray[Any], begin: int, end: int) -> None:
        matmul_kernels.rounded_chain(self.a[rows], self.b, acc, begin, end, self._rounder)


class RoundedPairs(FastSums):
    """One or two products a step, summed with the addend in float64 to odd."""

    def __init__(self, engine: Engine, a: Operand, b: Operand, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        self._rounder = rounder(engine.result, engine.rounding, np.float64)
        self._neutral = np.full(self.b.shape[1], -0.0)
        self._narrow = a.highest + b.highest + 2 - a.lowest - b.lowest <= BINARY64.precision

    @staticmethod
    def fits(engine: Engine, a: Operand, b: Operand) -> bool:
        return _is_exact(engine) and engine.products <= 2

    def accumulate(self, rows: slice, acc: NDArray[Any], begin: int, end: int) -> None:
        products, neutral = self.engine.products, self._neutral
        matmul_kernels.rounded_pairs(
            self.a[rows], self.b, acc, begin, end, products, self._narrow, neutral, self._rounder
        )


class Windowed(FastSums):
    """Steps with a window."""

    def __init__(self, engine: Engine, a: Operand, b: Operand, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        general = GeneralSums(engine, a, b, self.depth, joins)
        self._powers = a.powers, np.ascontiguousarray(b.alignment_powers().T)
        self._sums = general.sums
        self._rounder = rounder(engine.result, engine.rounding, np.float64)
        self._kernel = window_kernels.windowed if engine.joined is None else window_kernels.joined

    @staticmethod
    def fits(engine: Engine, a: Operand, b: Operand) -> bool:
        """A zero's exponent is not looked at: no product may lie below it."""
        zeros_matter = engine.zero_exponent is not None and a.lowest + b.lowest < engine.zero_exponent
        return engine.window is not None and not zeros_matter

    def accumulate(self, rows: slice, acc: NDArray[Any], begin: int, end: int) -> None:
        power_a, power_b = self._powers
        self._kernel(self._sums, self.a[rows], self.b, power_a[rows], power_b, acc, begin, end, self._rounder)


class Exact(FastSums):
    """Exact sums over K: operands split by exponent, so that float64 holds the sum of every pair of parts."""

    def __init__(self, engine: Engine, a: Operand, b: Operand, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        count = _parts(a, b)
        assert count is not None
        self._pairs = [(x, y) for x in _split(self.a, a, count) for y in _split(self.b, b, count)]
        self._general = GeneralSums(engine, a, b, self.depth, joins)

    @staticmethod
    def fits(engine: Engine, a: Operand, b: Operand) -> bool:
        plain = engine.whole and engine.rounding.is_monotone and not engine.rounding.cancels_to_minus
        count = _parts(a, b) if plain else None
        finite = count == 1 or (_is_finite(a) and _is_finite(b))
        return count is not None and finite

    def accumulate(self, rows: slice, acc: NDArray[Any], begin: int, end: int) -> None:
        parts = np.full((len(self._pairs), *acc.shape), -0.0)
        for part, (a, b) in zip(parts, self._pairs, strict=True):
            matmul_kernels.chain(a[rows], b, part, begin, end)
        base, limbs = self._general.sums.base, self._general.limbs()
        matmul_kernels.combine(*self._general.rounding, base, limbs, parts, acc)


MAX_PARTS = 4


def _is_finite(x: Operand) -> bool:
    finite = np.isfinite(x.format.table)
    return bool(finite.all() or finite[x.codes].all())


def _parts(a: Operand, b: Operand) -> int | None:
    """Into how many ranges of exponents to split the operands; None where more than MAX_PARTS are needed."""
    depth_bits = math.ceil(math.log2(max(a.codes.shape[1], 1)))
    for count in range(1, MAX_PARTS + 1):
        if sum(_part_bits(x, count) for x in (a, b)) + depth_bits <= BINARY64.precision:
            return count
    return None


def _part_bits(x: Operand, count: int) -> int:
    """Bits of the fixed-point numbers of one part: its range of exponents, and a significand below."""
    every = x.highest - x.lowest + 1
    return every if count == 1 else min(every, -(-every // count) + x.format.precision - 1)


def _split(values: NDArray[np.float64], x: Operand, count: int) -> list[NDArray[np.float64]]:
    """The numbers of each range of exponents, zeros of their sign in place of the others."""
    if count == 1:
        return [values]
    length = -(-(x.highest - x.lowest + 1) // count)
    edges = [2.0 ** (x.lowest + length * i) for i in range(count)] + [np.inf]
    sizes = np.abs(values)
    zeros = np.copysign(0.0, values)
    return [np.where((sizes >= low) & (sizes < high), values, zeros) for low, high in itertools.pairwise(edges)]


STRATEGIES: tuple[type[FastSums], ...] = (Chain, RoundedChain, RoundedPairs, Windowed, Exact)


def fast_sums(engine: Engine, a: Operand, b: Operand, joins: bool) -> FastSums | None:
    """The first strategy that fits; None where only the general kernel does."""
    bypasses = engine.zero_bypass and (a.is_merged or b.is_merged)
    rounds = engine.whole or can_round(engine.result, engine.rounding)
    rounds_totals = not joins or can_round(engine.output, engine.output_rounding)
    if bypasses or not rounds or not rounds_totals:
        return None
    for strategy in STRATEGIES:
        if strategy.fits(engine, a, b):
            return strategy(engine, a, b, joins)
    return None


def codes_of(values: NDArray[Any], fmt: Format) -> NDArray[Any]:
    """Codes of numbers of a format; NaN is the canonical one."""
    if fmt.bits == 32:
        codes = values.astype(np.float32).view(np.uint32)
    else:
        codes = encode(values, fmt, Rounding.RTZ, Overflow.INF)
    nan = fmt.nan_code(False)
    assert nan is not None and fmt.kind_of(nan) is Kind.NAN
    codes[np.isnan(values)] = nan
    return codes
