"""Encode, decode and cast arrays: one rounding from the source value, at the kernels' speed (spec section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.formats import Format, Rounding, format
from fp9.policy import CastPolicy, Overflow, choice
from fp9.tables import can_express_nan, rounding_rows, rounding_target, smallest_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

CHUNK = 1 << 15
"""Elements widened to float64 at a time, so that memory beside input and output stays constant."""

_EXACT_INTEGER_BITS = 53
_STICKY_BITS = 11


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Switches of HiF8 hybrid rounding (spec 2.3).

    `strict` rounds up when F > T instead of F >= T; `doc_overflow` keeps [40960, 1.5 * 2^15) stochastic, as CANN's page
    writes it; `bf16_via_fp32` takes bfloat16 sources through FP32, as Ascend does.
    """

    strict: bool = False
    doc_overflow: bool = False
    bf16_via_fp32: bool = False

    @property
    def bits(self) -> int:
        """The switches as the kernels take them."""
        from fp9 import kernels

        return self.strict * kernels.HYBRID_STRICT | self.doc_overflow * kernels.HYBRID_DOC


def encode(
    x: ArrayLike,
    fmt: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = Overflow.SATURATE,
    nan_to_zero: bool = False,
    *,
    inf_clip: bool = False,
    hybrid: Hybrid | None = None,
    random_bits: ArrayLike | None = None,
    random_width: int = 16,
) -> NDArray[Any]:
    """Codes of numbers: uint8, uint16 or uint32 by the format's width, shape of `x`.

    `x`: float64, float32, float16, bfloat16 or integers. `rounding` None is the family's default. `random_bits` are
    the integers of `sr`, `random_width` bits each, one for each element or one for all.

    >>> encode([1.0, 464.0, 1e9], "e4m3").tolist()
    [56, 126, 126]

    Raises ValueError for a NaN that the format cannot express and for policies that do not fit, TypeError for sources
    that are no numbers. Source: spec sections 2.1 to 2.4.
    """
    target = format(fmt)
    policy = CastPolicy(
        None if rounding is None else choice(Rounding, rounding, "rounding"),
        choice(Overflow, overflow, "overflow policy"),
        nan_to_zero,
        inf_clip,
    )
    policy.check(target)
    source = as_numbers(x)
    codes, _ = encode_numbers(
        source,
        target,
        policy,
        hybrid or Hybrid(),
        _random(policy, target, source, random_bits, random_width),
        random_width,
    )
    return codes


def encode_numbers(
    source: NDArray[Any],
    fmt: Format,
    policy: CastPolicy,
    hybrid: Hybrid,
    random_bits: NDArray[np.int64] | None = None,
    random_width: int = 16,
    flags: bool = False,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Codes and, if asked for, flags (else of size 0) of an array that `as_numbers` let pass."""
    from fp9 import kernels

    rounding = policy.rounding_for(fmt)
    thresholds, width = hybrid_thresholds(source.dtype, hybrid) if rounding is Rounding.HYBRID else (None, random_width)
    rows, target = rounding_rows(fmt), rounding_target(fmt, policy)
    flat = np.ascontiguousarray(source).reshape(-1)
    codes = np.empty(flat.shape, dtype=fmt.dtype)
    raised = np.empty(flat.size if flags else 0, dtype=np.uint8)
    for start in range(0, flat.size, CHUNK):
        part = slice(start, start + CHUNK)
        patterns = widen(flat[part]).view(np.int64)
        randoms = _NO_BITS
        if thresholds is not None:
            randoms = thresholds(flat[part])
        elif random_bits is not None:
            randoms = random_bits if random_bits.size == 1 else random_bits[part]
        kernels.encode_bits(
            *rows, target, kernels.MODES[rounding], patterns, randoms, width, hybrid.bits, codes[part], raised[part]
        )
    if not can_express_nan(fmt, policy) and np.isnan(flat).any():
        raise ValueError(f"NaN given, and {fmt.name} has no NaN; remove it or ask for nan_to_zero")
    return codes.reshape(source.shape), raised.reshape(source.shape if flags else 0)


_NO_BITS = np.zeros(1, dtype=np.int64)


def as_numbers(x: ArrayLike) -> NDArray[Any]:
    """`x` as an array of float64, float32, float16, bfloat16 or integers, without rounding; TypeError otherwise."""
    source = np.asarray(x)
    if source.dtype.name == "bfloat16" or source.dtype in (np.float64, np.float32, np.float16):
        return source
    if source.dtype.kind in "iu":
        return source
    raise TypeError(f"an array of {source.dtype.name} given; give float64, float32, float16, bfloat16 or integers")


def widen(source: NDArray[Any]) -> NDArray[np.float64]:
    """The same numbers as float64; integers that it cannot hold are rounded to odd, which no later rounding can see."""
    if source.dtype.kind not in "iu" or source.dtype.itemsize < 8:
        with np.errstate(invalid="ignore"):  # widening a signalling NaN
            return np.ascontiguousarray(source, dtype=np.float64)
    magnitude = np.where(source < 0, np.uint64(0) - source.astype(np.uint64), source.astype(np.uint64))
    wide = magnitude >> np.uint64(_EXACT_INTEGER_BITS) != 0
    sticky = (magnitude & np.uint64((1 << _STICKY_BITS) - 1)) != 0
    odd = (magnitude >> np.uint64(_STICKY_BITS) | sticky) << np.uint64(_STICKY_BITS)
    result = np.where(wide, odd, magnitude).astype(np.float64)
    return np.where(source < 0, -result, result)


def hybrid_thresholds(dtype: np.dtype[Any], hybrid: Hybrid) -> tuple[Callable[[NDArray[Any]], NDArray[np.int64]], int]:
    """How to read hybrid rounding's T from source elements, and its width N (HiF8 section 3.2, CANN `Cast`).

    FP32: T14 is the low 14 bits. FP16 and BF16: T2 = {src[0], 1}. Raises TypeError for other sources.
    """
    if dtype == np.float32:
        return (lambda part: (part.view(np.uint32) & 0x3FFF).astype(np.int64)), 14
    if dtype.name == "bfloat16" and hybrid.bf16_via_fp32:
        return (lambda part: np.zeros(part.size, dtype=np.int64)), 14
    if dtype == np.float16 or dtype.name == "bfloat16":
        return (lambda part: (part.view(np.uint16) & 1).astype(np.int64) * 2 + 1), 2
    raise TypeError(
        f"hybrid rounding takes its bits from a float32, float16 or bfloat16 source; {dtype.name} given: convert first"
    )


def _random(
    policy: CastPolicy, fmt: Format, source: NDArray[Any], bits: ArrayLike | None, width: int
) -> NDArray[np.int64] | None:
    if policy.rounding_for(fmt) is not Rounding.SR:
        if bits is not None:
            raise ValueError(f"random_bits given with rounding {policy.rounding_for(fmt).value}; only sr takes them")
        return None
    if bits is None:
        raise ValueError("rounding sr needs random_bits: integers below 2**random_width, one each or one for all")
    if not 1 <= width <= 32:
        raise ValueError(f"random_width {width} given; give 1 to 32")
    array = np.asarray(bits)
    if array.dtype.kind not in "iu" or array.shape not in ((), source.shape):
        raise ValueError(
            f"random_bits of {array.dtype.name}, shape {array.shape} given; "
            f"give integers of shape {source.shape}, or one integer"
        )
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < 1 << width:
        raise ValueError(f"random_bits outside 0..2**{width}-1 given; mask them or set random_width")
    return array.astype(np.int64).reshape(-1)


def as_codes(codes: ArrayLike, fmt: Format) -> NDArray[Any]:
    """`codes` as the format's unsigned integers; TypeError for other dtypes, ValueError for codes that do not exist."""
    array = np.asarray(codes)
    if array.dtype.kind == "V" and array.dtype.itemsize == fmt.dtype.itemsize:
        array = array.view(fmt.dtype)
    if array.dtype.kind not in "iu":
        raise TypeError(f"codes of {fmt.name} are unsigned integers of {fmt.bits} bits; {array.dtype.name} given")
    if array.dtype != fmt.dtype or fmt.bits % 8:
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < 1 << fmt.bits:
            raise ValueError(f"a code outside 0..2**{fmt.bits}-1 given; {fmt.name} has {fmt.bits} bits")
        array = array.astype(fmt.dtype)
    return array


def decode(codes: ArrayLike, fmt: Format | str) -> NDArray[Any]:
    """Numbers of codes: float32 (float64 where float32 cannot hold the format), shape of `codes`.

    >>> decode([0x6E, 0x80], "hif8").tolist()
    [32768.0, nan]

    Raises TypeError for codes that are no integers, ValueError for codes that the format does not have.
    """
    source = format(fmt)
    return decode_to(as_codes(codes, source), source, smallest_dtype(source))


def decode_to(codes: NDArray[Any], fmt: Format, dtype: Any) -> NDArray[Any]:
    """Numbers of valid codes as `dtype`."""
    if fmt.bits > 16:
        with np.errstate(invalid="ignore"):  # widening a signalling NaN
            return np.asarray(codes, dtype=np.uint32).view(np.float32).astype(dtype)
    numbers: NDArray[Any] = fmt.table.astype(dtype)[codes]
    return numbers


def cast(
    codes: ArrayLike,
    source: Format | str,
    target: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = Overflow.SATURATE,
    nan_to_zero: bool = False,
    *,
    inf_clip: bool = False,
) -> NDArray[Any]:
    """Codes of one format from codes of another, with one rounding; parameters, shape and errors as `encode`."""
    numbers = decode_native(as_codes(codes, format(source)), format(source))
    return encode(numbers, target, rounding, overflow, nan_to_zero, inf_clip=inf_clip)


def decode_native(codes: NDArray[Any], fmt: Format) -> NDArray[Any]:
    """Numbers as the NumPy type of the format where there is one, so that hybrid rounding finds its source bits."""
    if fmt.name == "fp16":
        return np.asarray(codes, dtype=np.uint16).view(np.float16)
    if fmt.name == "bf16":
        import ml_dtypes

        return np.asarray(codes, dtype=np.uint16).view(ml_dtypes.bfloat16)
    return decode_to(codes, fmt, smallest_dtype(fmt))
