"""Sums of products by NumPy operations, for processes that have not loaded the compiled kernels.

The steps follow `kernels.engine_steps`. In every array of factors, the first axis is the index of the product.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.casts import in_numpy as casts
from fp9.casts.tables import Target, decode_table, rounding_rows, rounding_target
from fp9.casts.wide import decode_wide
from fp9.engines import Addend, Engine, Truncation
from fp9.formats import TABLE_BITS, FixedFormat
from fp9.formats.host import BINARY64
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags, Overflow, Rounding
from fp9.sums.operands import Span
from fp9.sums.sides import Side, View
from fp9.system.warming import stays_in_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAIRS: tuple[View, View] = (np.transpose, np.transpose)
"""Functions that move products to the leading axis, for sums of a's row i times b's row i."""

MATRIX: tuple[View, View] = (lambda a: a.T[:, :, None], lambda b: b.T[:, None, :])
"""Functions that move products to the leading axis, for sums of every row of a times every row of b."""

_PRODUCTS = 4
"""Number of products that take NumPy as long as one rounding."""


def sums(
    engine: Engine, a: Side, b: Side, start: NDArray[np.float64], joins: bool, views: tuple[View, View]
) -> tuple[NDArray[Any], NDArray[np.uint8]] | None:
    """Return the codes and exception flags of sums of products, in the shape of the initial sums `start`.

    Return None if NumPy would be too slow, if a number is infinite or NaN, or if this module does not support the
    accumulator model. If the result is None, the caller must use the compiled kernels.
    """
    work = start.size * (engine.steps(a.depth) + a.depth // _PRODUCTS)
    if not supports(engine, a.span, b.span, a.depth) or not stays_in_numpy(work):
        return None
    if not all(np.isfinite(numbers).all() for numbers in (a.values, b.values, start)):
        return None
    products, powers, scales = (
        views[0](of_a) * views[1](of_b)
        for of_a, of_b in ((a.values, b.values), (a.powers, b.powers), (a.at_sums, b.at_sums))
    )
    with np.errstate(all="ignore"):
        total, raised = _chunks(engine, products, powers, scales, start, joins)
    return (total.codes, raised) if np.isfinite(total.numbers).all() else None


def supports(engine: Engine, a: Span, b: Span, depth: int) -> bool:
    """Return whether NumPy operations give the same bits as the accumulator model for all finite operands."""
    result, several = engine.result, depth if engine.step.exact else engine.step.products
    plain = result.overflow is Overflow.INF and not (result.flush or result.flush_addend)
    # Under `rdn`, an exact cancellation is -0, and NumPy's is +0.
    rounds = casts.supports(result.rounding) and result.rounding is not Rounding.RDN
    range_bits = a.highest - a.lowest + b.highest - b.lowest + 2
    exact = several == 1 or range_bits + (several - 1).bit_length() <= BINARY64.precision
    return plain and rounds and engine.step.group is None and (engine.window.width is not None or exact)


class _Rounded(NamedTuple):
    codes: NDArray[Any]
    numbers: NDArray[np.float64]
    flags: NDArray[np.uint8]


def _chunks(
    engine: Engine, products: Any, powers: Any, scales: Any, start: NDArray[np.float64], joins: bool
) -> tuple[_Rounded, NDArray[np.uint8]]:
    depth, raised = products.shape[0], np.zeros(start.shape, dtype=np.uint8)
    total = _Rounded(np.empty(0), start, raised)
    length = engine.chunk.length or depth
    for chunk, begin in enumerate(range(0, depth, length)):
        end = min(begin + length, depth)
        part = total._replace(numbers=np.zeros(start.shape)) if joins else total
        several = depth if engine.step.exact else engine.step.products
        for first in range(begin, end, several):
            some = slice(first, min(first + several, end))
            part = _step(engine, products[some], powers[some] if powers.size > 1 else powers, part.numbers)
            raised |= part.flags
        if joins:
            scaled = part.numbers * scales[min(chunk, len(scales) - 1)]
            part = _rounded(_sum_to_odd(scaled, total.numbers), engine.output, engine.output_rounding)
            raised |= part.flags
        total = part
    return total, raised


def _step(engine: Engine, products: Any, powers: Any, c: Any) -> _Rounded:
    if engine.window.width is None:
        exact = _sum_to_odd(functools.reduce(np.add, products), c)  # NumPy's sum of negative zeros is +0
        return _rounded(exact, engine.result.format, engine.result.rounding)
    found = _window_sum if engine.window.interleaved is None else _joined_sum
    exact, dropped = found(engine, engine.window.width, products, powers, c)
    codes, numbers, flags = _rounded(exact, engine.result.format, engine.result.rounding)
    codes[numbers == 0] = 0
    numbers = numbers + 0.0  # -0 becomes +0
    is_tiny = (exact != 0) & (np.abs(exact) < _lowest_power(engine)) & _target(engine.result.format).can_underflow
    flags[dropped & (flags == 0) & is_tiny] |= np.uint8(Flags.UNDERFLOW)
    flags[dropped] |= np.uint8(Flags.INEXACT)
    return _Rounded(codes, numbers, flags)


def _target(fmt: FixedFormat) -> Target:
    return rounding_target(fmt, CastPolicy(overflow=Overflow.INF))


def _rounded(numbers: NDArray[np.float64], fmt: FixedFormat, rounding: Rounding) -> _Rounded:
    found, flags = casts.round_numbers(rounding_rows(fmt), _target(fmt), rounding, numbers)
    codes = found.astype(fmt.dtype)
    decoded = decode_table(fmt)[codes] if fmt.bits <= TABLE_BITS else decode_wide(codes, fmt)
    return _Rounded(codes, decoded.astype(np.float64, copy=False), flags)


def _sum_to_odd(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    total = x + y
    back = total - x
    error = (x - (total - back)) + (y - back)
    bits = total.view(np.int64)
    away = np.where((error > 0) == (total > 0), 1, -1)
    return (bits + np.where((error != 0) & (bits & 1 == 0) & np.isfinite(total), away, 0)).view(np.float64)


# --- windows --------------------------------------------------------------------------------------------------------

_CUT: dict[Truncation, Callable[[Any], Any]] = {
    Truncation.ZERO: np.trunc,
    Truncation.FLOOR: np.floor,
    Truncation.JAM: lambda x: np.where(
        np.trunc(x) % 2 == 0, np.trunc(x) + np.sign(x) * (np.trunc(x) != x), np.trunc(x)
    ),
}


def _power(x: Any, lowest: float) -> Any:
    return np.maximum((x.view(np.int64) & BINARY64.infinity).view(np.float64), lowest)


def _lowest_power(engine: Engine) -> float:
    return 2.0**engine.result.format.min_normal_exponent


def _window_sum(engine: Engine, width: int, products: Any, powers: Any, c: Any) -> tuple[Any, Any]:
    window, cut = engine.window, _CUT[engine.window.truncation]
    top, zero = powers.max(axis=0), (powers == 0).any(axis=0)
    if window.addend is Addend.INSIDE:
        top = np.where(c != 0, np.maximum(top, _power(c, _lowest_power(engine))), top)
        zero = zero | (c == 0)
    if window.zero_exponent is not None:
        top = np.where(zero, np.maximum(top, 2.0**window.zero_exponent), top)
    scale = 2.0**width / np.where(top > 0, top, 1.0)
    terms, addend = products * scale, c * scale
    kept, of_c = cut(terms), addend if window.addend is Addend.OUTSIDE else cut(addend)
    dropped = (kept != terms).any(axis=0) | (of_c != addend)
    found = _sum_to_odd(kept.sum(axis=0) / scale, of_c / scale)
    return np.where(top > 0, found, c), dropped & (top > 0)


def _joined_sum(engine: Engine, width: int, products: Any, powers: Any, c: Any) -> tuple[Any, Any]:
    """Compute with NumPy operations the same total as the kernel function `engine_steps.join_halves`."""
    assert engine.window.interleaved is not None
    unit, wide, lowest = 2.0**width, 2.0 ** (engine.window.interleaved + 1), _lowest_power(engine)
    tops = [powers[half::2].max(axis=0, initial=0.0) for half in range(2)]
    of_products, of_c = np.maximum(*tops), _power(c, lowest)
    top = np.maximum(of_products, of_c)
    dot, dropped = np.zeros(c.shape), np.zeros(c.shape, dtype=np.bool_)

    def floored(x: Any, cut: Any = np.floor) -> Any:
        kept = cut(x)
        np.logical_or(dropped, kept != x if x.ndim == c.ndim else (kept != x).any(axis=0), out=dropped)
        return kept

    for half, own in enumerate(tops):
        terms = floored(products[half::2] * (unit / np.where(own > 0, own, np.inf)), np.trunc)
        dot += floored(terms.sum(axis=0) * (own / np.where(of_products > 0, of_products, np.inf)))
    total = floored(dot * (of_products / top) * (wide / unit))
    kept = floored(c * (unit / top), lambda addend: np.where(of_c * unit * 2 >= top, np.floor(addend), 0.0))
    total = (total + kept * (wide / unit)) * (top / wide)
    last = wide / 2 / _power(total, lowest)
    return floored(total * last) / last, dropped
