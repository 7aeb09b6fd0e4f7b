"""The two sides of a product: rows of an operand that are summed along K, with the scales that multiply them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.engines import Engine, Scaling
from fp9.sums.operands import Operand, Span, finite_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SCALE_LIMIT = 127
"""Largest magnitude of a scale's exponent (that of an E8M0 scale)."""

NO_POWERS = np.zeros((1, 1))
_ONE = np.ones((1, 1))

View = Callable[["NDArray[Any]"], "NDArray[Any]"]
"""Which part of an array of an operand's shape is meant, as a matrix."""


@dataclass(eq=False)
class Side:
    """Rows of one operand, (rows, k): what multiplies their numbers, (rows, k or 1), and what multiplies the sums of
    chunks, (rows or 1, chunks or 1). A right side is the operand's columns: `mT` of it.
    """

    operand: Operand
    view: View
    depth: int
    span: Span
    factors: NDArray[np.float64] | None
    at_sums: NDArray[np.float64]
    aligned: bool  # an engine with a window asks for the alignment powers

    def rows(self, what: str) -> NDArray[Any]:
        """An array of `Operand.array` as (rows, k), multiplied; contiguous."""
        return self._multiplied(self.view(self.operand.array(what)), self.factors)

    def columns(self, what: str) -> NDArray[Any]:
        """The same as (k, rows), of sides that are matrices of their operand."""
        factors = None if self.factors is None else self.factors.T
        return self._multiplied(self.view(self.operand.mT.array(what)), factors)

    @staticmethod
    def _multiplied(array: NDArray[Any], factors: NDArray[np.float64] | None) -> NDArray[Any]:
        return array if factors is None else np.ascontiguousarray(array * factors.astype(array.dtype))

    @functools.cached_property
    def values(self) -> NDArray[np.float64]:
        """The numbers, row by row in memory."""
        return self.rows("float64")

    @functools.cached_property
    def powers(self) -> NDArray[np.float64]:
        """The alignment powers, row by row in memory; shape (1, 1) where no window asks for them."""
        return self.rows("powers") if self.aligned else NO_POWERS

    @property
    def is_finite(self) -> bool:
        """Whether no code stands for an infinity or NaN."""
        if finite_table(self.operand.format).all():
            return True
        return bool(self.view(self.operand.array("finite")).all())


def side(
    operand: Operand, view: View, depth: int, engine: Engine, scale: NDArray[np.int64] | None, block: int | None
) -> Side:
    """The rows of an operand that `view` shows, of `depth` products; `scale` (rows or 1, blocks) of `scale_rows`."""
    span, factors, at_sums = operand.span, None, _ONE
    if scale is not None and (engine.whole or engine.scaling is Scaling.PRODUCTS):
        factors = _spread(scale, block, depth)
        span = span.scaled(int(scale.min(initial=0)), int(scale.max(initial=0)))
    elif scale is not None:
        at_sums = _at_chunks(scale, engine, block, depth)
    return Side(operand, view, depth, span, factors, at_sums, engine.window is not None)


def some_rows(array: NDArray[Any], rows: slice) -> NDArray[Any]:
    """Some rows; all of them where there is one, which stands for all."""
    return array if array.shape[0] == 1 else array[rows]


# --- scales ---------------------------------------------------------------------------------------------------------


def scale_rows(
    name: str,
    scale: ArrayLike | None,
    shape: tuple[int, ...],
    depth: int,
    block: int | None,
    *,
    batch: tuple[int, ...] = (),
    blocks_first: bool = False,
) -> NDArray[np.int64] | None:
    """Scale exponents of an operand whose rows have `shape`: (*batch, *shape, 1), or (*batch, *shape, blocks) with
    `block`; None for no scale. Leading axes that are given broadcast to `batch`. `blocks_first`: they are given as
    (blocks, rows).

    Raises ValueError for shapes and exponents that do not fit, TypeError for scales that are no integers.
    """
    if scale is None:
        return None
    array = np.asarray(scale)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} of {array.dtype.name} given; give exponents of two, as integers")
    if array.size and max(int(array.max()), -int(array.min())) > SCALE_LIMIT:
        raise ValueError(f"{name} outside -{SCALE_LIMIT}..{SCALE_LIMIT} given; scales are exponents of two")
    blocks = (-(-depth // block),) if block else ()
    full = (*blocks, *shape) if blocks_first else (*shape, *blocks)
    lead = array.shape[: array.ndim - len(full)]
    if array.shape not in ((), (*lead, *full)) or not broadcasts(lead, batch):
        given = f"{name} of shape {array.shape} given; give one integer, or integers of shape {full}"
        raise ValueError(given + (f" with leading axes that broadcast to {batch}" if batch else ""))
    exponents: NDArray[np.int64] = np.broadcast_to(array, (*batch, *full)).astype(np.int64)
    if not block:
        return exponents[..., np.newaxis]
    return exponents.swapaxes(-1, -2) if blocks_first else exponents


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of a shape broadcasts to another shape."""
    return len(shape) <= len(to) and all(
        given in (1, wanted) for given, wanted in zip(reversed(shape), reversed(to), strict=False)
    )


def check_block(engine: Engine, block: int | None) -> None:
    """Raise ValueError for a block length that the engine cannot scale."""
    if block is None:
        return
    if block < 1:
        raise ValueError(f"block of {block} given; give the number of products that share a scale, 1 or more")
    if engine.interleave is not None and engine.chunk is not None and block % engine.chunk:
        raise ValueError(
            f"block of {block} given; engine {engine.name} interleaves chunks of {engine.chunk}: give a multiple of it"
        )
    sums = engine.scaling is Scaling.SUMS and not engine.whole
    if sums and (engine.chunk is None or block % engine.chunk):
        raise ValueError(
            f"engine {engine.name} scales the sums of chunks; for scales of blocks of {block}, give it "
            f"chunk={block} or a divisor, as in '{engine.name.partition('(')[0]}(chunk={block})'"
        )


def _spread(scale: NDArray[np.int64], block: int | None, depth: int) -> NDArray[np.float64]:
    """Factors for every product, (rows, k) or (rows, 1)."""
    factors = np.ldexp(1.0, scale)
    return np.repeat(factors, block, axis=1)[:, :depth] if block else factors


def _at_chunks(scale: NDArray[np.int64], engine: Engine, block: int | None, depth: int) -> NDArray[np.float64]:
    """Factors for every chunk, (rows, chunks) or (rows, 1)."""
    factors = np.ldexp(1.0, scale)
    if not block:
        return factors
    assert engine.chunk is not None, "check_block lets blocks of sums pass only with chunks"
    return np.repeat(factors, block // engine.chunk, axis=1)[:, : -(-depth // engine.chunk)]
