"""Fast computation of small matrix products and dot products with precomputed constants.

A plan holds the precomputed constants for one accumulator model, two operand formats and one number of products per
sum. To compute a product, a plan calls three or four kernels in one thread. A plan returns None for unsupported codes,
such as infinities in a matrix product.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.random_bits import NO_RANDOM
from fp9.casts.sources import read_only
from fp9.casts.tables import decode_table, smallest_dtype
from fp9.engines import NO_EXPONENT, Engine
from fp9.engines import engine as find_engine
from fp9.formats import TABLE_BITS, Format, format
from fp9.kernels import engine_steps
from fp9.kernels.compiled import Direct
from fp9.kernels.tiles import small as kernels
from fp9.sums.codes import narrowing
from fp9.sums.fast import fitting
from fp9.sums.general import kernel_sums, output_rounding, step_rounding
from fp9.sums.operands import Operand, Span, exponent_table, filler_of, lowest_bit_table, power_table, tables_of
from fp9.sums.strategy import FastSums, Problem, SmallSums, Unpacked, depth_bits
from fp9.sums.tiles import EVERY_STRATEGY

MOST = 1 << 15
"""Largest number of products in a small matrix product."""

_PLANS = 4096

_LOWEST, _HIGHEST = -36, 37
"""Exponents of the lowest and the highest bit of the numbers that plans support, which few operands of BF16 leave."""

_NO_FLAGS = np.empty(0, dtype=np.uint8)


class Plan:
    """Precomputed constants for small matrix products.

    A plan serves one accumulator model, two operand formats and one number of products per sum.
    `order` holds the index of each product in the order of addition, or `PADDING`.
    """

    def __init__(
        self,
        problem: Problem,
        formats: tuple[Format, Format],
        order: NDArray[np.intp],
        strategy: type[FastSums],
        sums: SmallSums,
        narrowed: Callable[[NDArray[np.uint32]], NDArray[Any]],
    ) -> None:
        self._flags, self._sums, self._narrowed = problem.flags, sums, narrowed
        self._unpack, self._finish = Direct(kernels.unpack), Direct(kernels.finish)
        orders = order[strategy.order_of_a(problem.engine, order.size)], order
        fillers = (int(filler_of(fmt)) for fmt in formats)
        tables = [_tables(fmt, np.dtype(strategy.carrier)) for fmt in formats]
        self._constants = *zip(orders, fillers, strict=True), *tables
        depth = int(order.max()) + 1
        # The first supported code of each format.
        first_a, first_b = (int(supported.argmax()) for _, _, _, supported, _, _ in tables)
        a, b = read_only(np.full((1, depth), first_a, formats[0].dtype), np.full((depth, 1), first_b, formats[1].dtype))
        self.product(a, b, compiles=True)

    def product(self, a: NDArray[Any], b: NDArray[Any], compiles: bool = False) -> Any:
        """Multiply matrices of codes, `a` (m, k) and `b` (k, n), and return the codes (m, n) of the product.

        The arrays `a` and `b` must be contiguous. If the plan was created with `problem.flags`, return both the codes
        and the exception flags. Return None if the plan does not support the codes or the sums.
        """
        (left, (finite_a, low_a, high_a)), (right, (finite_b, low_b, high_b)) = self._unpack(a, b, *self._constants)
        if not (finite_a and finite_b):
            return None
        if compiles:  # large products use the same kernels, which Numba compiles for read-only operands
            left, right = read_only(*left), read_only(*right)
        found = self._sums(Unpacked(left, right, low_a + low_b, high_a + high_b))
        if found is None:
            return None
        sums, redo, marks = found
        patterns = np.empty(sums.size, np.uint32)
        flags = np.empty(sums.size, np.uint8) if self._flags else _NO_FLAGS
        if not self._finish(sums, redo, marks, patterns, flags):
            return None
        codes = self._narrowed(patterns).reshape(sums.shape)
        return (codes, flags.reshape(sums.shape)) if self._flags else codes


def _order(engine: Engine, depth: int) -> NDArray[np.intp]:
    whole = depth + (-depth % engine.chunk.length if engine.chunk.interleave and engine.chunk.length else 0)
    places = np.array(engine.order(whole), dtype=np.intp)
    return np.where(places < depth, places, kernels.PADDING)


def _tables(fmt: Format, carrier: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
    tables = tables_of(fmt)
    supported = tables.finite & (tables.lowest >= _LOWEST) & (tables.highest <= _HIGHEST)
    lowest_bits = np.maximum(lowest_bit_table(fmt), NO_EXPONENT).astype(np.int8)
    ends = supported, tables.lowest, tables.highest
    return tuple(read_only(decode_table(fmt, carrier), exponent_table(fmt), lowest_bits, *ends))


def _span(fmt: Format) -> Span:
    span = tables_of(fmt).span
    return span._replace(lowest=max(span.lowest, _LOWEST), highest=min(span.highest, _HIGHEST))


@functools.lru_cache(maxsize=_PLANS)
def _plan(engine: Engine, a: Format, b: Format, depth: int, flags: bool) -> Plan | None:
    if max(a.bits, b.bits) > TABLE_BITS or engine.result.rounding.needs_bits:
        return None
    order, output = _order(engine, depth), engine.output
    has_filler = a.has_zero or b.has_zero or order.size == depth
    if not has_filler or smallest_dtype(output) != np.float32 or (narrowed := narrowing(output)) is None:
        return None
    problem = Problem(engine, _span(a), _span(b), order.size, engine.chunk.length is not None, flags)
    bits = depth_bits(order.size)
    for strategy in fitting(EVERY_STRATEGY, engine, problem.a, problem.b, problem.joins, bits):
        if sums := strategy.small(problem):
            return Plan(problem, (a, b), order, strategy, sums, narrowed)
    return None


def small_product(
    a: Any, b: Any, format_a: Format | str | None, format_b: Format | str | None, engine: Engine | str, flags: bool
) -> Any:
    """Return the codes, and the flags if requested, of a matrix product, or None if the fast path does not apply."""
    (x, fmt_a), (y, fmt_b) = _codes(a, format_a), _codes(b, format_b)
    if fmt_a is None or fmt_b is None or x.ndim != 2 or y.ndim != 2:
        return None
    (rows, depth), (depth_b, columns) = x.shape, y.shape
    if depth != depth_b or not 0 < rows * columns * depth <= MOST:
        return None
    if (x.dtype, y.dtype) != (fmt_a.dtype, fmt_b.dtype):
        return None
    if (plan := _plan(find_engine(engine), fmt_a, fmt_b, depth, flags)) is None:
        return None
    return plan.product(np.ascontiguousarray(x), np.ascontiguousarray(y))


class DotPlan:
    """Precomputed constants for dot products of one length with the general kernel."""

    def __init__(self, engine: Engine, formats: tuple[Format, Format], order: NDArray[np.intp]) -> None:
        self._dtype, spans = engine.output.dtype, (tables_of(fmt).span for fmt in formats)
        sums, self._limbs = kernel_sums(engine, *spans, order.size, engine.chunk.length is not None)
        self._rounding = step_rounding(engine), output_rounding(engine), sums
        nothing, self._one = np.empty(0), read_only(np.ones((1, 1)))[0]
        is_aligned = engine.window.width is not None
        self._random = (*read_only(NO_RANDOM.values), NO_RANDOM.width)
        self._tables = [
            ((order, int(filler_of(fmt))), *read_only(decode_table(fmt), power_table(fmt) if is_aligned else nothing))
            for fmt in formats
        ]
        self._unpack = Direct(kernels.unpack_rows), Direct(kernels.unpack_rows)
        self._sum = Direct(engine_steps.sum_rows)
        codes = (np.zeros((1, int(order.max()) + 1), fmt.dtype) for fmt in formats)
        self.dots(*read_only(*codes), compiles=True)

    def dots(self, a: NDArray[Any], b: NDArray[Any], *, compiles: bool = False) -> Any:
        """Return codes (m,) and flags (m,) of dot products of contiguous codes (m, k), or None if a code is invalid."""
        values_a, powers_a, valid_a = self._unpack[0](a, *self._tables[0])
        values_b, powers_b, valid_b = self._unpack[1](b, *self._tables[1])
        if not (valid_a and valid_b):
            return None
        rows = len(a)
        terms, start = engine_steps.Terms(values_a, values_b, powers_a, powers_b), np.zeros(rows)
        if compiles:  # other callers give read-only arrays to the kernel
            terms, (start,) = engine_steps.Terms(*read_only(*terms)), read_only(start)
        codes, flags = np.empty(rows, np.uint32), np.empty(rows, np.uint8)
        limbs = np.zeros(self._limbs, np.int64)
        self._sum(*self._rounding, terms, start, self._one, self._random, limbs, codes, flags)
        return codes.astype(self._dtype, copy=False), flags


@functools.lru_cache(maxsize=_PLANS)
def _dot_plan(engine: Engine, a: Format, b: Format, depth: int) -> DotPlan | None:
    if max(a.bits, b.bits) > TABLE_BITS or engine.result.rounding.needs_bits or engine.step.group is not None:
        return None
    order = _order(engine, depth)
    return DotPlan(engine, (a, b), order) if a.has_zero or b.has_zero or order.size == depth else None


def small_dot(
    a: Any, b: Any, format_a: Format | str | None, format_b: Format | str | None, engine: Engine | str, flags: bool
) -> Any:
    """Return the codes, and the flags if requested, of dot products, or None if the fast path does not apply."""
    (x, fmt_a), (y, fmt_b) = _codes(a, format_a), _codes(b, format_b)
    if fmt_a is None or fmt_b is None or (shape := x.shape) != y.shape or not shape or not 0 < x.size <= MOST:
        return None
    if (x.dtype, y.dtype) != (fmt_a.dtype, fmt_b.dtype):
        return None
    if (plan := _dot_plan(find_engine(engine), fmt_a, fmt_b, shape[-1])) is None:
        return None
    flat = -1, shape[-1]
    found = plan.dots(np.ascontiguousarray(x).reshape(flat), np.ascontiguousarray(y).reshape(flat))
    if found is None:
        return None
    codes, raised = found
    return (codes.reshape(shape[:-1]), raised.reshape(shape[:-1])) if flags else codes.reshape(shape[:-1])


def _codes(x: Any, fmt: Format | str | None) -> tuple[Any, Format | None]:
    if type(x) is Operand:
        return x.codes, x.format if fmt is None else None
    # The format None means that the fast path does not support the argument.
    found = format(fmt) if type(x) is np.ndarray and fmt is not None else None
    return x, None if found is None or found.padding else found
