"""Encode, decode and cast arrays: one rounding from the source value, at the speed of memory (spec section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.counts import Tally
from fp9.casts.plans import encoder
from fp9.casts.random_bits import RandomBits, Stochastic, random_bits_of
from fp9.casts.request import Request, Supplied
from fp9.casts.sources import as_numbers, as_scale, hybrid_thresholds
from fp9.casts.tables import decode_table, smallest_dtype
from fp9.casts.wide import decode_wide
from fp9.formats import Format, format
from fp9.formats.dtypes import stored_codes
from fp9.policy import CastPolicy, cast_policy
from fp9.rounding import PUBLISHED, Hybrid, NanSign, Overflow, Rounding
from fp9.system.parallel import CACHED, over_parts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Hybrid",
    "as_codes",
    "as_numbers",
    "cast",
    "decode",
    "decode_native",
    "decode_to",
    "encode",
    "encode_numbers",
    "hybrid_thresholds",
]


def encode(
    x: ArrayLike,
    fmt: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = Overflow.SATURATE,
    nan_to_zero: bool = False,
    *,
    inf_clip: bool = False,
    nan_sign: NanSign | str = NanSign.KEPT,
    hybrid: Hybrid | None = None,
    random_bits: ArrayLike | np.random.Generator | None = None,
    random_width: int = 16,
    stochastic: Stochastic | str | None = None,
    scale: ArrayLike = 0,
    flags: bool = False,
    counts: bool = False,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Codes of x * 2**scale: uint8, uint16 or uint32 by the format's width, shape of `x`; with `flags` also the flags,
    and with `counts` also what happened to how many elements, and the largest magnitude (`fp9.Counts`).

    `x`: float64, float32, float16, bfloat16 or integers, as an array, a torch tensor or a number. `rounding` None is
    the family's default. `overflow`: saturate, inf, or directed as IEEE 754 has it (see `fp9.Overflow`); `nan_sign`:
    kept, overflow or lost (see `fp9.NanSign`). `random_bits` are the integers of `sr`, `random_width` bits each, one
    for each element or one for all, or a NumPy Generator; `stochastic` names an instruction whose rule they follow (see
    `fp9.Stochastic`). `scale`: integer exponents that broadcast to `x`. Flags are uint8 of fp9.Flags bits. `threads`
    None uses all cores for large arrays. `out` takes the codes in place of a new array.

    >>> encode([1.0, 464.0, 1e9], "e4m3").tolist()
    [56, 126, 126]

    Raises ValueError for a NaN that the format cannot express and for policies that do not fit, TypeError for sources
    that are no numbers. Source: spec sections 2.1 to 2.4.
    """
    target = format(fmt)
    policy = cast_policy(target, rounding, overflow, nan_to_zero, inf_clip, nan_sign)
    source = as_numbers(x)
    random = random_bits_of(policy, random_bits, random_width, stochastic, source.shape, target)
    exponents = as_scale(scale, source.shape)
    one, each = (exponents, None) if isinstance(exponents, int) else (None, exponents)
    request = Request(target, policy, hybrid or PUBLISHED, one, random.width if random else 0, flags)
    counter = Tally(request, source.dtype) if counts else None
    codes, raised = _encode(source, request, Supplied(each, random), counter, threads, out)
    if counter is None:
        return (codes, raised) if flags else codes
    return (codes, raised, counter.total()) if flags else (codes, counter.total())


def encode_numbers(
    source: NDArray[Any],
    fmt: Format,
    policy: CastPolicy,
    hybrid: Hybrid,
    random_bits: NDArray[Any] | None = None,
    random_width: int = 16,
    flags: bool = False,
    scale: int | NDArray[np.int32] = 0,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Codes and, if asked for, flags (else of size 0) of an array that `as_numbers` let pass.

    `scale` is one exponent for all elements or one for each, as `as_scale` gives them.
    """
    random = None if random_bits is None else RandomBits(random_bits.reshape(-1), random_width)
    one, each = (scale, None) if isinstance(scale, int) else (None, scale)
    request = Request(fmt, policy, hybrid, one, random.width if random else 0, flags)
    return _encode(source, request, Supplied(each, random))


def _encode(
    source: NDArray[Any],
    request: Request,
    supplied: Supplied,
    counter: Tally | None = None,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Codes, and flags where the request asks for them; a counter sees every part."""
    fmt, flat = request.fmt, np.ascontiguousarray(source).reshape(-1)
    plan = encoder(request, flat.dtype, flat.size)
    if not plan.takes_nan and _has_nan(flat):
        raise ValueError(f"NaN given, and {fmt.name} has no NaN; remove it or ask for nan_to_zero")
    codes = output_array(out, source.shape, fmt.dtype).reshape(-1)
    raised = np.empty(flat.size if request.flags else 0, dtype=np.uint8)

    def work(part: slice) -> None:
        plan.encode(supplied, part, flat[part], codes[part], raised[part])
        if counter is not None:
            counter.add(supplied, part, flat[part], codes[part])

    over_parts(flat.size, threads, work, plan.part)
    return codes.reshape(source.shape), raised.reshape(source.shape if request.flags else 0)


def output_array(out: NDArray[Any] | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """`out` if it is fit for results of this shape and type, or a new array; ValueError for another `out`."""
    if out is None:
        return np.empty(shape, dtype=dtype)
    if out.shape != shape or out.dtype != dtype or not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError(
            f"out of {out.dtype.name}, shape {out.shape} given; give a contiguous array of {dtype.name}, shape {shape}"
        )
    return out


def _has_nan(flat: NDArray[Any]) -> bool:
    """Whether there is a NaN, in constant memory."""
    if flat.dtype.kind in "iu":
        return False
    return any(bool(np.isnan(flat[start : start + CACHED]).any()) for start in range(0, flat.size, CACHED))


def as_codes(codes: ArrayLike, fmt: Format) -> NDArray[Any]:
    """`codes` as the format's unsigned integers, without a copy where they are such or another package's type for it.

    Raises TypeError for other dtypes and for unsigned integers narrower than the format's;
    ValueError for codes that do not exist and arrays of another format's type.
    """
    array = stored_codes(codes, fmt)
    if array.dtype.kind not in "iu":
        raise TypeError(f"codes of {fmt.name} are unsigned integers of {fmt.bits} bits; {array.dtype.name} given")
    if array.dtype.kind == "u" and array.dtype.itemsize < fmt.dtype.itemsize:
        raise TypeError(
            f"{array.dtype.name} given as codes of {fmt.name}, which are {fmt.dtype.name}; decode those of another "
            "format, convert others"
        )
    if array.dtype != fmt.dtype or fmt.bits % 8:
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < 1 << fmt.bits:
            raise ValueError(f"a code outside 0..2**{fmt.bits}-1 given; {fmt.name} has {fmt.bits} bits")
        array = array.astype(fmt.dtype, copy=False)
    if fmt.padding and (array & fmt.dtype.type((1 << fmt.padding) - 1)).any():
        raise ValueError(f"a code whose low {fmt.padding} bits are not 0 given; {fmt.name} has none such")
    return array


def decode(
    codes: ArrayLike,
    fmt: Format | str,
    *,
    scale: ArrayLike = 0,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Numbers of codes, times 2**-scale: float32 (float64 where float32 cannot hold them), shape of `codes`.

    `scale` undoes that of `encode`: integer exponents that broadcast to `codes`. `out` takes the numbers in place of a
    new array.

    >>> decode([0x6E, 0x80], "hif8").tolist()
    [32768.0, nan]

    Raises TypeError for codes that are no integers, ValueError for codes that the format does not have.
    """
    source = format(fmt)
    array = as_codes(codes, source)
    exponents = as_scale(scale, array.shape)
    span = (int(np.min(exponents)), int(np.max(exponents))) if np.size(exponents) else (0, 0)
    numbers = decode_to(array, source, smallest_dtype(source, span), threads, out)
    if span != (0, 0):
        factors = exponents if isinstance(exponents, int) else exponents.reshape(array.shape)
        np.ldexp(numbers, -factors, out=numbers)
    return numbers


def decode_to(
    codes: NDArray[Any], fmt: Format, dtype: Any, threads: int | None = None, out: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Numbers of valid codes as `dtype`."""
    numbers = output_array(out, codes.shape, np.dtype(dtype))
    if fmt.bits > 16:
        with np.errstate(invalid="ignore"):  # widening a signalling NaN
            numbers[...] = decode_wide(codes, fmt)
        return numbers
    from fp9.kernels.round32 import look_up  # slow to load

    flat, results = np.ascontiguousarray(codes).reshape(-1), numbers.reshape(-1)
    table = decode_table(fmt, numbers.dtype)
    over_parts(flat.size, threads, lambda part: look_up(flat[part], table, results[part]))
    return numbers


def cast(
    codes: ArrayLike,
    source: Format | str,
    target: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = Overflow.SATURATE,
    nan_to_zero: bool = False,
    **options: Any,
) -> Any:
    """Codes of one format from codes of another, with one rounding; parameters, shape and errors as `encode`.

    >>> cast([0x7E, 0x01], "e4m3", "e5m2").tolist()
    [95, 24]
    """
    numbers = decode_native(as_codes(codes, format(source)), format(source))
    return encode(numbers, target, rounding, overflow, nan_to_zero, **options)


def decode_native(codes: NDArray[Any], fmt: Format) -> NDArray[Any]:
    """Numbers as the NumPy type of the format where there is one, so that hybrid rounding finds its source bits."""
    if fmt.native_dtype is None:
        return decode_to(codes, fmt, smallest_dtype(fmt))
    import ml_dtypes  # slow to load; it gives NumPy the name bfloat16

    native = ml_dtypes.bfloat16 if fmt.native_dtype == "bfloat16" else fmt.native_dtype
    return np.asarray(codes, dtype=fmt.dtype).view(native)
