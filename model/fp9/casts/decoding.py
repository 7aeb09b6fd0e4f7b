"""Decoding of codes to exact numbers, checks of codes, and allocation of output arrays."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.sources import as_scale, check_work, read_only
from fp9.casts.tables import decode_table, smallest_dtype
from fp9.casts.wide import decode_wide
from fp9.formats import Format
from fp9.formats.dtypes import named_or_carried, stored_codes
from fp9.system.parallel import over_parts
from fp9.system.warming import stays_in_numpy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def as_codes(codes: ArrayLike, fmt: Format) -> NDArray[Any]:
    """Return `codes` as an array of the format's unsigned integer dtype, without a copy if possible."""
    array = stored_codes(codes, fmt)
    if array.dtype == fmt.dtype and fmt.bits == 8 * array.itemsize and not fmt.padding:
        return array
    if array.dtype.kind not in "iu":
        raise TypeError(f"codes of {fmt.name} are unsigned integers of {fmt.bits} bits; {array.dtype.name} given")
    if array.dtype.kind == "u" and array.dtype.itemsize < fmt.dtype.itemsize:
        raise TypeError(
            f"{array.dtype.name} given as codes of {fmt.name}, which are {fmt.dtype.name}; name the format of "
            "these codes, or convert the array"
        )
    if array.dtype != fmt.dtype or fmt.bits % 8:
        lowest = 0 if array.dtype.kind == "u" or not array.size else int(array.min())
        if array.size and not 0 <= lowest <= int(array.max()) < 1 << fmt.bits:
            raise ValueError(f"a code outside 0..2**{fmt.bits}-1 given; {fmt.name} has {fmt.bits} bits")
        array = array.astype(fmt.dtype, copy=False)
    if fmt.padding and (array & fmt.dtype.type((1 << fmt.padding) - 1)).any():
        raise ValueError(f"a code whose low {fmt.padding} bits are not 0 given; these bits are padding in {fmt.name}")
    return array


def decode(
    codes: ArrayLike,
    fmt: Format | str | None = None,
    *,
    scale: ArrayLike = 0,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Decode `codes` and multiply by 2**scale. Return float32 numbers in the shape of `codes`.

    If the numbers do not fit into float32, the function returns float64.

    - `fmt`: the format of the codes. Omit `fmt` for an array that states its format, such as an `fp9.Array`.
    - `scale`: integer exponents that broadcast to `codes`.
    - `out`: the array to write the numbers to, or None for a new array.

    >>> decode([0x6E, 0x80], "hif8").tolist()
    [32768.0, nan]

    Raises TypeError if `codes` are not integers, and ValueError for an integer that is not a code of the format.
    """
    check_work(threads)
    source = named_or_carried(codes, fmt)
    array = as_codes(codes, source)
    exponents = as_scale(scale, array.shape)
    span = (exponents, exponents) if isinstance(exponents, int) else _span(exponents)
    numbers = decode_to(array, source, smallest_dtype(source, span), threads, out)
    if span != (0, 0):
        factors = exponents if isinstance(exponents, int) else exponents.reshape(array.shape)
        np.ldexp(numbers, factors, out=numbers)
    return numbers


def _span(exponents: NDArray[np.int32]) -> tuple[int, int]:
    return (int(exponents.min()), int(exponents.max())) if exponents.size else (0, 0)


def decode_to(
    codes: NDArray[Any], fmt: Format, dtype: Any, threads: int | None = None, out: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Decode valid codes to an array of `dtype`."""
    numbers = output_array(out, codes.shape, np.dtype(dtype))
    if fmt.bits > 16:
        with np.errstate(invalid="ignore"):  # widening a signalling NaN
            numbers[...] = decode_wide(codes, fmt)
        return numbers
    (flat,), results = read_only(np.ascontiguousarray(codes).reshape(-1)), numbers.reshape(-1)
    table = decode_table(fmt, numbers.dtype)
    over_parts(flat.size, threads, lambda part: look_up(flat[part], table, results[part]))
    return numbers


def look_up(codes: NDArray[Any], table: NDArray[Any], results: NDArray[Any]) -> None:
    """Look up each code (n,) in a table, and write the entries to `results` (n,)."""
    if stays_in_numpy(codes.size // _LOOK_UPS):
        np.take(table, codes, out=results, mode="clip")
    else:
        _kernels().look_up(codes, table, results)


@functools.cache
def _kernels() -> Any:
    from fp9.kernels import round32  # slow to load

    return round32


_LOOK_UPS = 32
"""Number of look-ups that take NumPy as long as one rounding."""


def decode_native(codes: NDArray[Any], fmt: Format) -> NDArray[Any]:
    """Decode codes to numbers of the NumPy or ml_dtypes type that has the same bit layout as the format.

    If `fmt.native_dtype` is None, the result has the smaller of the types float32 and float64 that represents all
    numbers of the format.
    """
    if fmt.native_dtype is None:
        return decode_to(codes, fmt, smallest_dtype(fmt))
    import ml_dtypes  # slow to load; it gives NumPy the name bfloat16

    native = ml_dtypes.bfloat16 if fmt.native_dtype == "bfloat16" else fmt.native_dtype
    return np.asarray(codes, dtype=fmt.dtype).view(native)


def output_array(out: NDArray[Any] | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    if out is None:
        return np.empty(shape, dtype=dtype)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out of type {type(out).__name__} given; give an array of {dtype.name}, shape {shape}")
    if out.shape != shape or out.dtype != dtype or not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError(
            f"out of {out.dtype.name}, shape {out.shape} given; give a contiguous array of {dtype.name}, shape {shape}"
        )
    return out
