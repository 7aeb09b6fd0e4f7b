"""Strategy for matrix products whose sums are exact and rounded only once."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.sources import read_only
from fp9.engines import Engine
from fp9.formats.host import BINARY64
from fp9.kernels import matrices as matmul_kernels
from fp9.kernels.compiled import Direct
from fp9.kernels.tiles import chains as chain_kernels
from fp9.sums.general import GeneralSums
from fp9.sums.operands import Span
from fp9.sums.rounders import can_round, rounder, tiny_below
from fp9.sums.sides import Places, Side
from fp9.sums.strategy import (
    NO_REDO,
    PRODUCTS_OF_TILES,
    FastSums,
    Flagged,
    Problem,
    SmallSums,
    Unpacked,
    depth_bits,
    range_bits,
    some_of,
)
from fp9.system.scratch import scratch, scratch_copy, scratch_full


class Exact(FastSums):
    """Matrix-product strategy for accumulators whose sums are exact."""

    part = PRODUCTS_OF_TILES

    def __init__(self, engine: Engine, a: Side, b: Side, joins: bool) -> None:
        super().__init__(engine, a, b, joins)
        spans, bits = (a.span, b.span), depth_bits(self.depth)
        if _parts(*spans, bits) != (1, 1):
            spans = a.met_span, b.met_span
        counts = _parts(*spans, bits)
        assert counts is not None, "every number is in its format"
        # The numbers of a part have similar exponents, so that float64 adds the products of two parts exactly.
        parts_a, parts_b = (read_only(*_split(*side)) for side in zip((self.a, self.b), spans, counts, strict=True))
        self._pairs = [(x, y) for x in parts_a for y in parts_b]
        self._general = GeneralSums(engine, a, b, joins)

    @staticmethod
    def fits(engine: Engine, a: Span, b: Span, depth_bits: int) -> bool:
        plain = engine.step.exact and engine.result.rounding.is_monotone and not engine.result.rounding.cancels_to_minus
        return plain and _parts(a, b, depth_bits) is not None

    @classmethod
    def takes(cls, engine: Engine, a: Side, b: Side, depth_bits: int) -> bool:
        # If an operand must be split into parts by exponent, all its numbers must be finite.
        return cls.is_whole(a.span, b.span, depth_bits) or (a.is_finite and b.is_finite)

    @staticmethod
    def is_whole(a: Span, b: Span, depth_bits: int) -> bool:
        """Return whether float64 holds all sums, so that no operand is split into parts."""
        return _parts(a, b, depth_bits) == (1, 1)

    @classmethod
    def small(cls, problem: Problem) -> SmallSums | None:
        result, depth = problem.engine.result, problem.depth
        is_whole = cls.is_whole(problem.a, problem.b, depth_bits(depth))
        if problem.joins or not is_whole or not can_round(result.format, result.rounding):
            return None
        plain, join, join_flagged = (
            Direct(kernel)
            for kernel in (chain_kernels.plain, matmul_kernels.join_parts, matmul_kernels.join_parts_flagged)
        )
        t, below = rounder(result.format, result.rounding, np.float64), tiny_below(result.format)

        def sums_of(x: Unpacked) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
            part, sums = np.full(x.shape, -0.0), np.zeros(x.shape)
            plain(x.a[0], x.b[0], part, 0, depth)
            if not problem.flags:
                join(sums, part, None, t)
                return sums, NO_REDO, None
            inexact, unsure = np.empty((2, *x.shape), dtype=np.uint8)
            join_flagged(sums, part, None, t, below, inexact, unsure)
            return sums, unsure, inexact

        return sums_of

    def _sums_of_parts(
        self, rows: Places, columns: Places, shape: tuple[int, ...], begin: int, end: int
    ) -> NDArray[np.float64]:
        parts = scratch_full((len(self._pairs), *shape), -0.0, np.float64)
        for part, pair in zip(parts, self._pairs, strict=True):
            a, b, *ends = some_of(pair, rows, columns, begin, end)
            chain_kernels.plain(a, b, part, *ends)
        return parts

    def accumulate(self, rows: Places, columns: Places, acc: NDArray[Any], begin: int, end: int) -> NDArray[Any]:
        parts = self._sums_of_parts(rows, columns, acc.shape, begin, end)
        if self._joins_parts:
            t = rounder(self.engine.result.format, self.engine.result.rounding, np.float64)
            matmul_kernels.join_parts(acc, *self._one_or_two(parts), t)
        else:
            self._combine(parts, acc, scratch(acc.shape, np.uint8))
        return acc

    @property
    def has_flags(self) -> bool:
        return True

    def flagged(self, rows: Places, columns: Places, start: NDArray[np.float64]) -> Flagged:
        parts = self._sums_of_parts(rows, columns, start.shape, 0, self.depth)
        sums = scratch_copy(start, np.float64)
        flags, unsure = np.zeros((2, *start.shape), dtype=np.uint8)
        if self._joins_parts:
            t, below = (
                rounder(self.engine.result.format, self.engine.result.rounding, np.float64),
                tiny_below(self.engine.result.format),
            )
            matmul_kernels.join_parts_flagged(sums, *self._one_or_two(parts), t, below, flags, unsure)
        else:
            self._combine(parts, sums, flags)
        return Flagged(sums, flags, unsure.view(np.bool_))

    @property
    def _joins_parts(self) -> bool:
        return len(self._pairs) <= 2 and can_round(self.engine.result.format, self.engine.result.rounding)

    @staticmethod
    def _one_or_two(parts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        return parts[0], parts[1] if len(parts) == 2 else None

    def _combine(self, parts: NDArray[np.float64], acc: NDArray[np.float64], flags: NDArray[np.uint8]) -> None:
        base, limbs = self._general.sums.base, self._general.limbs()
        matmul_kernels.combine(self._general.result, base, limbs, parts, acc, flags)


MAX_PARTS = 4
"""Largest number of exponent ranges into which an operand is split."""


def _parts(a: Span, b: Span, depth_bits: int) -> tuple[int, int] | None:
    counts = itertools.product(range(1, MAX_PARTS + 1), repeat=2)
    for count_a, count_b in sorted(counts, key=math.prod):
        if _part_bits(a, count_a) + _part_bits(b, count_b) + depth_bits <= BINARY64.precision:
            return count_a, count_b
    return None


def _part_bits(x: Span, count: int) -> int:
    every = range_bits(x)
    return every if count == 1 else min(every, -(-every // count) + x.precision - 1)


def _split(values: NDArray[np.float64], x: Span, count: int) -> list[NDArray[np.float64]]:
    if count == 1:
        return [values]
    length = -(-range_bits(x) // count)
    edges = [2.0 ** (x.lowest + length * i) for i in range(count)] + [np.inf]
    sizes = np.abs(values)
    zeros = np.copysign(0.0, values)
    return [np.where((sizes >= low) & (sizes < high), values, zeros) for low, high in itertools.pairwise(edges)]
