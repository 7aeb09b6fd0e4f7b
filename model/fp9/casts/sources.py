"""Checks of a cast's arguments, and exact scaling of source numbers by powers of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.formats import HiFloat8, format
from fp9.formats.dtypes import tensor_numbers
from fp9.formats.host import BINARY64
from fp9.formats.rounding import Hybrid

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_EXACT_INTEGER_BITS = BINARY64.precision
_STICKY_BITS = 64 - BINARY64.precision
_TINY = float(np.finfo(np.float64).tiny)
_HUGE = float(np.finfo(np.float64).max)
MAX_SCALE = 4096
"""Maximum absolute scale exponent of a cast."""


_USUAL = np.dtype(np.float32), np.dtype(np.float64)


def as_numbers(x: ArrayLike) -> NDArray[Any]:
    """Return `x` as an array of float64, float32, float16, bfloat16 or integers."""
    if type(x) is np.ndarray and x.dtype in _USUAL:
        return x
    try:
        source = tensor_numbers(x)
    except ValueError as error:
        raise ValueError(
            f"numbers of no common shape given; give an array, or sequences of equal lengths ({error})"
        ) from None
    native = source.dtype.newbyteorder("=")
    if native.name == "bfloat16" or native in (np.float64, np.float32, np.float16) or native.kind in "iu":
        return source.astype(native, copy=False)
    raise TypeError(f"numbers of type {source.dtype.name} given; give float64, float32, float16, bfloat16 or integers")


def widen(source: NDArray[Any]) -> NDArray[np.float64]:
    if source.dtype.kind not in "iu" or source.dtype.itemsize < 8:
        with np.errstate(invalid="ignore"):  # widening a signalling NaN
            return np.ascontiguousarray(source, dtype=np.float64)
    # Integers of more than 53 bits are rounded to odd, so that the cast does not round twice to nearest.
    magnitude = np.where(source < 0, np.uint64(0) - source.astype(np.uint64), source.astype(np.uint64))
    wide = magnitude >> np.uint64(_EXACT_INTEGER_BITS) != 0
    sticky = (magnitude & np.uint64((1 << _STICKY_BITS) - 1)) != 0
    odd = (magnitude >> np.uint64(_STICKY_BITS) | sticky) << np.uint64(_STICKY_BITS)
    result = np.where(wide, odd, magnitude).astype(np.float64)
    return np.where(source < 0, -result, result)


def scaled(numbers: NDArray[np.float64], exponents: NDArray[np.int32] | int) -> NDArray[np.float64]:
    """Return numbers * 2^exponents as float64, without rounding."""
    with np.errstate(all="ignore"):  # also signalling NaN
        result = np.ldexp(numbers, exponents)
    # Products outside float64's range are clipped, because the range of every target format is far smaller.
    finite = np.isfinite(numbers) & (numbers != 0)
    result = np.where(finite & np.isinf(result), np.copysign(_HUGE, numbers), result)
    return np.where(finite & (np.abs(result) < _TINY), np.copysign(_TINY, numbers), result)


def read_only(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    # Numba would otherwise compile each kernel twice, for writable and for read-only arrays.
    return [_read_only(array) if array.flags.writeable else array for array in arrays]


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def check_switches(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} of type {type(value).__name__} given; give True or False")


def check_integer(name: str, value: object, least: int, most: int | None = None, extra: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} of type {type(value).__name__} given; give an integer{extra}")
    if value < least or (most is not None and value > most):
        given = f"{name}={value} given; give "
        raise ValueError(given + (f"{least} or more{extra}" if most is None else f"{least} to {most}{extra}"))


def check_axes(axis: object, dimensions: int) -> None:
    for one in axis if isinstance(axis, tuple) else () if axis is None else (axis,):
        check_integer("axis", one, -dimensions, dimensions - 1)


def check_work(threads: object, progress: object = None) -> None:
    if threads is not None:
        check_integer("threads", threads, 1, None, ", or None for all cores")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress of type {type(progress).__name__} given; give a function of the fraction done")


def as_scale(scale: ArrayLike, shape: tuple[int, ...]) -> int | NDArray[np.int32]:
    """Return an integer if `scale` is a single exponent, or else a flat array of exponents.

    An array of several exponents is broadcast to `shape` before the function flattens the array.
    """
    if type(scale) is int and abs(scale) <= MAX_SCALE:
        return scale
    outside = f"a scale exponent outside -{MAX_SCALE}..{MAX_SCALE} given; give one of that range"
    if type(scale) is int:
        raise ValueError(outside)
    exponents = np.asarray(scale)
    if exponents.dtype.kind not in "iu":
        raise TypeError(f"scale of {exponents.dtype.name} given; give the integer exponent k of the factor 2**k")
    if exponents.dtype.kind == "u":
        raise TypeError(
            f"scale of {exponents.dtype.name} given, the type of codes; give signed integers k of factors 2**k (of "
            "e8m0 codes: the codes minus 127)"
        )
    if exponents.size and not -MAX_SCALE <= int(exponents.min()) <= int(exponents.max()) <= MAX_SCALE:
        raise ValueError(outside)
    if exponents.ndim == 0:
        return int(exponents)
    try:
        whole = np.broadcast_to(exponents.astype(np.int32), shape)
    except ValueError:
        raise ValueError(f"scale of shape {exponents.shape} given; it must broadcast to {shape}") from None
    return whole.reshape(-1)


def hybrid_thresholds(dtype: np.dtype[Any], hybrid: Hybrid) -> tuple[Callable[[NDArray[Any]], NDArray[np.int64]], int]:
    """Return a function from source elements to hybrid-rounding thresholds, and the width of a threshold in bits."""
    if dtype.name == "bfloat16" and hybrid.bf16_via_fp32:
        return (lambda part: np.zeros(part.size, dtype=np.int64)), _threshold_width("float32")
    if dtype.name in ("float32", "float16", "bfloat16"):
        bits, ones = HiFloat8.threshold_bits(format(dtype))
        mask, pattern = (1 << bits) - 1, np.dtype(f"u{dtype.itemsize}")
        return (lambda part: (part.view(pattern) & mask).astype(np.int64) << ones | (1 << ones) - 1), bits + ones
    raise TypeError(
        f"hybrid rounding takes its bits from a float32, float16 or bfloat16 source; {dtype.name} given: convert first"
    )


def _threshold_width(dtype: str) -> int:
    return sum(HiFloat8.threshold_bits(format(dtype)))
