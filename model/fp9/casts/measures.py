"""Functions for format limits (as in `numpy.finfo`), for casts to a format and back, and for quantisation errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from fp9.casts.arrays import CastOptions, as_numbers, decode, encode
from fp9.casts.sources import check_axes
from fp9.formats import Format, floor_log2, format
from fp9.formats.dtypes import carried

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Finfo:
    """Limits of a format under the names of `numpy.finfo`, and properties of the format's special values.

    `eps` is the distance from 1 to the next larger number. `epsneg` is the distance from 1 to the next smaller number.
    `nmant` is the maximum number of fraction bits. `minexp` is the exponent of `smallest_normal`. `maxexp` is the
    exponent of the first power of two above the largest number.
    """

    format: Format
    bits: int
    dtype: np.dtype[Any]
    max: float
    min: float
    eps: float
    epsneg: float
    smallest_normal: float
    smallest_subnormal: float
    nmant: int
    minexp: int
    maxexp: int
    has_inf: bool
    has_nan: bool
    has_zero: bool
    signed: bool

    @property
    def tiny(self) -> float:
        """Return the smallest normal number, which `numpy.finfo` also calls `tiny`."""
        return self.smallest_normal


def finfo(fmt: Format | str | object) -> Finfo:
    """Return the limits of a number format.

    `fmt` is a format, the name of a format, a dtype, or an array whose dtype or attribute `format` tells the format.

    >>> finfo("e4m3").max, finfo("hif8").eps, finfo("e5m2").maxexp
    (448.0, 0.125, 16)

    Raises ValueError for an unknown name, and TypeError for an object without a format.
    """
    found = carried(fmt) or format(fmt)
    normal = found.smallest_normal
    return Finfo(
        format=found,
        bits=found.bits,
        dtype=found.dtype,
        max=found.max,
        min=found.min,
        eps=found.eps,
        epsneg=math.ldexp(1.0, found.quantum(-1)),
        smallest_normal=normal,
        smallest_subnormal=found.smallest_subnormal,
        nmant=found.precision - 1,
        minexp=math.frexp(normal)[1] - 1,
        maxexp=floor_log2(found.max_magnitude) + 1,
        has_inf=found.has_inf,
        has_nan=found.has_nan,
        has_zero=found.has_zero,
        signed=found.signed,
    )


def fake_quantise(x: ArrayLike, fmt: Format | str, **options: Unpack[CastOptions]) -> NDArray[Any]:
    """Cast numbers to a format and back. The result has the dtype of `x`, or float32 if `x` holds integers.

    All options of `encode` except `out` are accepted. If the dtype of `x` cannot represent a quantised number, the
    quantised number is rounded to this dtype.

    >>> fake_quantise([0.3, 1000.0], "e4m3", scale=2).tolist()
    [0.3125, 1024.0]
    """
    source = as_numbers(np.asarray(x) if carried(x) else x)
    numbers = decode(encode(source, fmt, **options), fmt, scale=options.get("scale", 0))
    return numbers.astype(dtype_of_result(source), copy=False)


def dtype_of_result(x: ArrayLike) -> np.dtype[Any]:
    dtype = as_numbers(np.asarray(x) if carried(x) else x).dtype
    return dtype if dtype.kind not in "iu" else np.dtype(np.float32)


def _doubles(x: ArrayLike) -> NDArray[np.float64]:
    return as_numbers(np.asarray(x) if carried(x) else x).astype(np.float64)


def amax_scale(x: ArrayLike, fmt: Format | str, axis: int | tuple[int, ...] | None = None) -> NDArray[np.int32]:
    """Return the smallest scale exponents with which no finite number overflows, one exponent per slice along `axis`.

    Pass the exponents to `encode` as `scale`. Without `axis`, the function returns one exponent for the whole array.
    With `axis`, the function returns an int32 array that broadcasts to the shape of `x`. Zeros, infinities and NaN are
    ignored. If an array or slice has no finite nonzero number, its scale exponent is 0.

    >>> x = np.float32([[1.0, 3.0], [1000.0, -4000.0]])
    >>> amax_scale(x, "e4m3", axis=1).tolist()
    [[-7], [4]]
    >>> decode(encode(x, "e4m3", scale=amax_scale(x, "e4m3", axis=1)), "e4m3").tolist()
    [[128.0, 384.0], [64.0, -256.0]]
    """
    numbers = np.abs(_doubles(x))
    check_axes(axis, numbers.ndim)
    amax = np.max(numbers, axis=axis, keepdims=axis is not None, initial=0.0, where=np.isfinite(numbers))
    fraction, exponent = np.frexp(amax)
    top_fraction, top_exponent = math.frexp(format(fmt).max)
    needed = exponent - top_exponent + (fraction > top_fraction)
    return np.where(amax > 0, needed, 0).astype(np.int32)


@overload
def sqnr(x: ArrayLike, y: ArrayLike, axis: None = None) -> np.float64: ...


@overload
def sqnr(x: ArrayLike, y: ArrayLike, axis: int | tuple[int, ...]) -> np.float64 | NDArray[np.float64]: ...


def sqnr(x: ArrayLike, y: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Any:
    """Return the signal-to-quantisation-noise ratio in dB over `axis` or all elements, computed in float64.

    For numbers x and quantised numbers y, the ratio is 10 log10(sum x^2 / sum (x - y)^2), and infinity if x equals y.
    If all numbers in x are 0 and y contains a nonzero number, the signal-to-noise ratio is minus infinity. If x or y
    contains an infinity or NaN, the signal-to-noise ratio is NaN.

    >>> round(float(sqnr([1.0, 2.0], [1.0, 2.25])), 3)
    19.031
    """
    signal, received = _doubles(x), _doubles(y)
    check_axes(axis, signal.ndim)
    if signal.shape != received.shape:
        raise ValueError(f"arrays of shapes {signal.shape} and {received.shape} given; give two of one shape")
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        noise = np.sum((signal - received) ** 2, axis=axis)
        return np.where(noise == 0, np.inf, 10 * np.log10(np.sum(signal**2, axis=axis) / noise))[()]
