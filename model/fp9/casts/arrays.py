"""Encode and cast whole arrays, with one rounding per element (numerics.md, conversion)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np

from fp9.casts.counts import Counts, Tally
from fp9.casts.decoding import as_codes, decode, decode_native, decode_to, output_array
from fp9.casts.options import CastOptions, Details
from fp9.casts.plans import encoder
from fp9.casts.random_bits import RandomBits, Rng, Stochastic, random_bits_of
from fp9.casts.request import Request, Supplied
from fp9.casts.sources import as_numbers, as_scale, check_switches, check_work, hybrid_thresholds, read_only
from fp9.formats import Format, Kind, format
from fp9.formats.dtypes import carried, named_or_carried
from fp9.formats.policy import CastPolicy, cast_policy
from fp9.formats.rounding import PUBLISHED, Hybrid, NanSign, Overflow, Payload, Rounding
from fp9.oracle import casts as oracle
from fp9.system.parallel import CACHED, over_parts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CastOptions",
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
    "output_array",
]


@overload
def encode(
    x: ArrayLike,
    fmt: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = ...,
    nan_to_zero: bool = False,
    *,
    flags: Literal[False] = False,
    counts: Literal[False] = False,
    **details: Unpack[Details],
) -> NDArray[Any]: ...


@overload
def encode(
    x: ArrayLike,
    fmt: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = ...,
    nan_to_zero: bool = False,
    *,
    flags: Literal[True],
    counts: Literal[False] = False,
    **details: Unpack[Details],
) -> tuple[NDArray[Any], NDArray[np.uint8]]: ...


@overload
def encode(
    x: ArrayLike,
    fmt: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = ...,
    nan_to_zero: bool = False,
    *,
    flags: Literal[False] = False,
    counts: Literal[True],
    **details: Unpack[Details],
) -> tuple[NDArray[Any], Counts]: ...


@overload
def encode(
    x: ArrayLike,
    fmt: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = ...,
    nan_to_zero: bool = False,
    *,
    flags: Literal[True],
    counts: Literal[True],
    **details: Unpack[Details],
) -> tuple[NDArray[Any], NDArray[np.uint8], Counts]: ...


def encode(
    x: ArrayLike,
    fmt: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = Overflow.SATURATE,
    nan_to_zero: bool = False,
    *,
    inf_clip: bool = False,
    nan_sign: NanSign | str = NanSign.KEPT,
    nan: int | None = None,
    payload: Payload | str = Payload.LOST,
    flush_source: bool = False,
    hybrid: Hybrid | None = None,
    random_bits: ArrayLike | None = None,
    random_width: int = 16,
    rng: Rng | None = None,
    stochastic: Stochastic | str | None = None,
    scale: ArrayLike = 0,
    flags: bool = False,
    counts: bool = False,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Return the codes of x * 2**-scale in the shape of `x`.

    The dtype of the codes is uint8, uint16 or uint32: the smallest type that can hold a code of the format.

    With `flags`, also return the exception flags of every element, a uint8 array of `fp9.Flags` bits. With `counts`,
    also return an `fp9.Counts` of statistics, such as the number of overflows and the largest magnitude.

    - `x`: float64, float32, float16, bfloat16 or integers, as an array, a torch tensor or a number. If `x` is an array
      of codes that states its format (`fp9.Array`, ml_dtypes, en_dtypes, torch), `encode` decodes `x` first.
    - `rounding`: the rounding mode, or None for the target format's default rounding mode.
    - `overflow`: the overflow policy, such as saturate, inf, or directed as in IEEE 754 (see `fp9.Overflow`).
    - `nan_sign`: kept, overflow or lost (see `fp9.NanSign`).
    - `nan`: a NaN code that replaces the format's canonical NaN.
    - `payload`: lost, quieted or kept (see `fp9.Payload`).
    - `flush_source`: whether the cast treats subnormal source numbers as zero.
    - `rng`: a seed or a NumPy Generator that supplies the random bits of stochastic rounding. The same seed and shape
      give the same codes for any number of threads.
    - `random_bits`: the random bits as integers of `random_width` bits, in the shape of `x`.
    - `stochastic`: the hardware instruction that defines how random bits are used (see `fp9.Stochastic`).
    - `scale`: integer exponents that broadcast to `x`. To get numbers close to `x` again, decode the codes and
      multiply by 2**scale.
    - `threads`: the number of threads. None uses all cores for large arrays.
    - `out`: the array to write the codes to, or None for a new array.

    >>> encode([1.0, 464.0, 1e9], "e4m3").tolist()
    [56, 126, 126]

    Raises ValueError if x contains NaN and the format has no NaN, or if an option does not fit the format. Raises
    TypeError if x does not hold numbers, or if a boolean option is not a boolean. Source: numerics.md.
    """
    target = format(fmt)
    check_switches(nan_to_zero=nan_to_zero, inf_clip=inf_clip, flush_source=flush_source, flags=flags, counts=counts)
    check_work(threads)
    if hybrid is not None and not isinstance(hybrid, Hybrid):
        raise TypeError(f"hybrid of type {type(hybrid).__name__} given; give fp9.Hybrid(...) or None")
    policy = cast_policy(target, rounding, overflow, nan_to_zero, inf_clip, nan_sign, nan, payload, flush_source)
    source = _numbers(x)
    random = random_bits_of(policy, random_bits, random_width, stochastic, source.shape, target, rng)
    exponents = -as_scale(scale, source.shape)
    one, each = (exponents, None) if isinstance(exponents, int) else (None, exponents)
    request = Request(target, policy, hybrid or PUBLISHED, one, random.width if random else 0, flags)
    counter = Tally(request, source.dtype) if counts else None
    codes, raised = _encode(source, request, Supplied(each, random), counter, threads, out)
    if counter is None:
        return (codes, raised) if flags else codes
    return (codes, raised, counter.total()) if flags else (codes, counter.total())


def _numbers(x: ArrayLike) -> NDArray[Any]:
    held = None if isinstance(x, np.ndarray) and x.dtype.isbuiltin == 1 else carried(x)
    return as_numbers(x) if held is None or held.native_dtype else decode_native(as_codes(x, held), held)


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
    fmt, (flat,) = request.fmt, read_only(np.ascontiguousarray(source).reshape(-1))
    plan = encoder(request, flat.dtype, flat.size, counter is not None)
    if not plan.takes_nan and _has_nan(flat):
        raise ValueError(f"NaN given, and {fmt.name} has no NaN; remove it or ask for nan_to_zero")
    codes = output_array(out, source.shape, fmt.dtype).reshape(-1)
    raised = np.empty(flat.size if request.flags else 0, dtype=np.uint8)

    def work(part: slice) -> None:
        arrays = flat[part], codes[part], raised[part]
        if counter is None:
            plan.encode(supplied, part, *arrays)
        else:
            counter.encode(plan, supplied, part, *arrays)

    over_parts(flat.size, threads, work, plan.part)
    return codes.reshape(source.shape), raised.reshape(source.shape if request.flags else 0)


def _has_nan(flat: NDArray[Any]) -> bool:
    if flat.dtype.kind in "iu":
        return False
    return any(bool(np.isnan(flat[start : start + CACHED]).any()) for start in range(0, flat.size, CACHED))


@overload
def cast(
    codes: ArrayLike,
    source: Format | str | None,
    target: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = ...,
    nan_to_zero: bool = False,
    *,
    flags: Literal[False] = False,
    counts: Literal[False] = False,
    **details: Unpack[Details],
) -> NDArray[Any]: ...


@overload
def cast(
    codes: ArrayLike,
    source: Format | str | None,
    target: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = ...,
    nan_to_zero: bool = False,
    *,
    flags: Literal[True],
    counts: Literal[False] = False,
    **details: Unpack[Details],
) -> tuple[NDArray[Any], NDArray[np.uint8]]: ...


@overload
def cast(
    codes: ArrayLike,
    source: Format | str | None,
    target: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = ...,
    nan_to_zero: bool = False,
    *,
    flags: Literal[False] = False,
    counts: Literal[True],
    **details: Unpack[Details],
) -> tuple[NDArray[Any], Counts]: ...


@overload
def cast(
    codes: ArrayLike,
    source: Format | str | None,
    target: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = ...,
    nan_to_zero: bool = False,
    *,
    flags: Literal[True],
    counts: Literal[True],
    **details: Unpack[Details],
) -> tuple[NDArray[Any], NDArray[np.uint8], Counts]: ...


def cast(
    codes: ArrayLike,
    source: Format | str | None,
    target: Format | str,
    rounding: Rounding | str | None = None,
    overflow: Overflow | str = Overflow.SATURATE,
    nan_to_zero: bool = False,
    *,
    flags: bool = False,
    counts: bool = False,
    **details: Unpack[Details],
) -> Any:
    """Convert codes of one format to codes of another format with one rounding.

    Options and errors are those of `encode`. If `source` is None, the array `codes` must state its format.

    >>> cast([0x7E, 0x01], "e4m3", "e5m2").tolist()
    [95, 24]
    """
    held = named_or_carried(codes, source, "source")
    numbers = decode_native(as_codes(codes, held), held)
    policy = rounding, overflow, nan_to_zero
    results = encode(numbers, target, *policy, flags=flags, counts=counts, **details)  # type: ignore[call-overload]
    if details.get("payload", Payload.LOST) not in (Payload.LOST, "lost") and not held.native_dtype:
        _give_payloads(as_codes(codes, held), held, results[0] if flags or counts else results, format(target), details)
    return results


def _give_payloads(
    sources: NDArray[Any], source: Format, codes: NDArray[Any], target: Format, details: Details
) -> None:
    # A decoded NaN has no payload, so the payloads come from the source codes.
    kept = NanSign(details.get("nan_sign", NanSign.KEPT)), Payload(details["payload"])
    policy = CastPolicy(nan_sign=kept[0], payload=kept[1])
    for code in np.unique(sources).tolist():
        if source.kind_of(code) is Kind.NAN:
            codes[sources == code] = oracle.encode(oracle.decode(code, source), target, policy)[0]
