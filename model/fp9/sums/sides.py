"""Selected rows of one operand of a matrix product, with the scales of the rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine, Scaling
from fp9.sums.operands import Operand, Span
from fp9.sums.scales import EXPONENTS, Scales, raised, scaled

NO_POWERS = np.zeros((1, 1))
_ONE = np.ones((1, 1))
_FAR = 64
"""Exponent beyond which kernels with tiles may not support an operand."""

Places = slice | NDArray[np.intp]
"""Indices that select rows or columns of a matrix."""

View = Callable[["NDArray[Any]"], "NDArray[Any]"]
"""Function that selects a matrix from an array with the shape of an operand."""


@dataclass(eq=False)
class Side:
    """Numbers and scales of one factor of a matrix product: rows of the left factor or columns of the right factor."""

    # The method `rows` returns an array (rows, k) for both factors.
    operand: Operand
    view: View
    depth: int  # number of products of a sum
    span: Span
    scales: Scales | None  # scales of numbers, in the shape (rows, 1) or (rows, blocks)
    block: int | None  # length of the blocks of `scales`
    at_sums: NDArray[np.float64]  # scales of chunk sums
    aligned: bool  # whether the engine has a window, which needs the alignment powers
    groups: Scales | None  # scales of sums of product groups

    def rows(self, what: str) -> NDArray[Any]:
        return self._scaled(what, self.view(self.operand.array(what)), axis=1)

    def columns(self, what: str) -> NDArray[Any]:
        return self._scaled(what, self.view(self.operand.mT.array(what)), axis=0)

    def _scaled(self, what: str, array: NDArray[Any], axis: int) -> NDArray[Any]:
        # The numbers of a block are along `axis`.
        if self.scales is None:
            return array
        scales, shape = self.scales.array(what), array.shape
        scales = scales if axis else scales.T
        if self.block and shape[axis] % self.block:
            scales = scales.repeat(self.block, axis).take(range(shape[axis]), axis)
        elif self.block:
            array = array.reshape((*shape[:axis], -1, self.block, *shape[axis + 1 :]))
            scales = np.expand_dims(scales, axis + 1)
        found = raised(array, scales, EXPONENTS[what], self.span) if what in EXPONENTS else scaled(array, scales)
        return np.ascontiguousarray(found.reshape(shape))

    @functools.cached_property
    def values(self) -> NDArray[np.float64]:
        return self.rows("float64")

    @functools.cached_property
    def powers(self) -> NDArray[np.float64]:
        """Return 2^e for each number in an array (rows, k), where e is the number's alignment exponent."""
        return self.rows("powers") if self.aligned else NO_POWERS

    @property
    def scaled_span(self) -> Span:
        """Return the exponent range of the scaled numbers that occur. Blocks of zeros, for example, have low scales."""
        highest, lowest = self.rows("exponents"), self.rows("lowest bits")
        some = highest != EXPONENTS["exponents"]
        if not some.any():
            return self.operand.likely_span._replace(precision=self.span.precision)
        return self.span._replace(lowest=int(lowest[some].min()), highest=int(highest[some].max()))

    @property
    def met_span(self) -> Span:
        # With scales, the range covers all numbers that are possible after scaling.
        return self.span if self.scales is not None else self.operand.met_span

    @property
    def is_finite(self) -> bool:
        if self.scales is not None and not self.scales.is_finite:
            return False
        return self.operand.is_finite or bool(self.view(self.operand.array("finite")).all())


def side(operand: Operand, view: View, depth: int, engine: Engine, scales: Scales | None, block: int | None) -> Side:
    span = operand.likely_span
    made = Side(operand, view, depth, span, None, None, _ONE, engine.window.width is not None, None)
    if scales is None:
        return made
    if engine.step.group is not None:
        return replace(made, groups=_at_groups(scales, engine.step.group, block))
    if engine.step.exact or engine.step.scaling is Scaling.PRODUCTS:
        made = replace(made, scales=scales, block=block, span=scales.widened(span))
        return made if max(-made.span.lowest, made.span.highest) < _FAR else replace(made, span=made.scaled_span)
    return replace(made, at_sums=_at_chunks(scales, engine, block, depth))


def some_rows(array: NDArray[Any], rows: Places) -> NDArray[Any]:
    # A single row stands for all rows.
    return array if array.shape[0] == 1 else array[rows]


# --- scales ---------------------------------------------------------------------------------------------------------


def _at_groups(scales: Scales, group: int, block: int | None) -> Scales:
    times = (block or group) // group
    return scales.each(lambda array: np.repeat(array, times, axis=1))


def _at_chunks(scales: Scales, engine: Engine, block: int | None, depth: int) -> NDArray[np.float64]:
    if not block:
        return scales.factors
    assert engine.chunk.length is not None, "format_of_scales lets blocks of sums pass only with chunks"
    return np.repeat(scales.factors, block // engine.chunk.length, axis=1)[:, : -(-depth // engine.chunk.length)]
