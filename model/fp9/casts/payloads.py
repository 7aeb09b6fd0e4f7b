"""Flushing of subnormal source numbers to zero before a cast, and copying of NaN payloads after the cast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.request import Encode, Request, Supplied
from fp9.formats import FixedFormat, fixed_format
from fp9.formats.host import BINARY64
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import NanSign, Payload

if TYPE_CHECKING:
    from numpy.typing import NDArray


def around(encode: Encode, request: Request, dtype: np.dtype[Any]) -> Encode:
    """Return an encode function that also flushes subnormal sources or copies NaN payloads."""
    policy, fmt = request.policy, request.fmt
    flushes, keeps = policy.flush_source, policy.payload is not Payload.LOST
    if dtype.kind in "iu" or not (flushes or keeps):
        return encode

    def changed(
        supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]
    ) -> None:
        encode(supplied, part, _flushed(source) if flushes else source, codes, flags)
        if keeps:
            assert isinstance(fmt, FixedFormat), "only a format with the special codes of IEEE 754 has payloads"
            nan = np.isnan(source)
            codes[nan] = _payloads(source[nan], fmt, policy)

    return changed


def _patterns(source: NDArray[Any]) -> tuple[NDArray[np.uint64], int, int]:
    fraction = BINARY64.fraction_bits if source.dtype.name == "float64" else fixed_format(source.dtype).fraction_bits
    bits = 8 * source.dtype.itemsize
    return source.view(f"u{source.dtype.itemsize}").astype(np.uint64), fraction, bits - 1


def _flushed(source: NDArray[Any]) -> NDArray[Any]:
    patterns, fraction, sign = _patterns(source)
    is_small = patterns & np.uint64((1 << sign) - (1 << fraction)) == 0
    kept = np.where(is_small, patterns & np.uint64(1 << sign), patterns)
    return kept.astype(f"u{source.dtype.itemsize}").view(source.dtype)


def _payloads(source: NDArray[Any], fmt: FixedFormat, policy: CastPolicy) -> NDArray[Any]:
    patterns, fraction, sign = _patterns(source)
    drop = fraction - fmt.fraction_bits
    payload = patterns & np.uint64((1 << fraction) - 1)
    kept = payload >> np.uint64(drop) if drop >= 0 else payload << np.uint64(-drop)
    is_quiet = (kept == 0) | (policy.payload is Payload.QUIETED)
    kept |= is_quiet.astype(np.uint64) << np.uint64(fmt.fraction_bits - 1)
    negative = patterns >> np.uint64(sign) if policy.nan_sign is NanSign.KEPT else np.uint64(0)
    infinity = fmt.inf_code(False)
    assert infinity is not None, "only a format with the special codes of IEEE 754 has payloads"
    return (np.uint64(infinity) | kept | negative << np.uint64(fmt.bits - 1)).astype(fmt.dtype)
