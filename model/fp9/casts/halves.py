"""Casts by look-up tables with one entry for each 16-bit pattern.

A float32 source number is first converted to bfloat16 with rounding to odd. The second rounding, from bfloat16 to the
target format, gives the same result as a single rounding if bfloat16 has at least two significand bits more than the
target format (Boldo and Melquiond, "When double rounding is odd", IMACS 2005).
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.request import NOTHING, Plan, Request, Supplied, odd_patterns, universal
from fp9.formats import Format, HiFloat8
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Hybrid, Rounding
from fp9.system.parallel import CACHED, STREAMED

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLE_PAYS = 1 << 15
"""Number of encoded elements from which a cast builds a table of 65,536 entries."""

_HALVES = 1 << 16
_FRACTION = 7

_LOWEST = -100
"""Minimum exponent of a target format's numbers. The upper half of a number below 2**-126 has fewer fraction bits."""


def by_upper_half(request: Request, dtype: np.dtype[Any]) -> Plan | None:
    """Return an encoding plan that looks up each 16-bit source pattern in a table."""
    if request.scale is None or request.random_width:
        return None
    from fp9.kernels.round32 import look_up  # slow to load

    table = _source_table(request, dtype)

    def encode(
        supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]
    ) -> None:
        look_up(source.view(np.uint16), table, codes)

    return Plan(encode, STREAMED)


def hif8_by_upper_half(request: Request, dtype: np.dtype[Any]) -> Plan | None:
    if not (isinstance(request.fmt, HiFloat8) and request.rounding.is_monotone):
        return None
    from fp9.kernels import round32 as fast_kernels  # slow to load

    # A larger scale would move subnormal float32 numbers into the target's range.
    direct = dtype == np.float32 and request.scale is not None and request.scale < -_LOWEST // 2
    table = _source_table(request if direct else replace(request, scale=0), np.dtype(np.float32))
    sticky = request.rounding not in (Rounding.RNA, Rounding.RTZ)

    def encode(
        supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]
    ) -> None:
        patterns = source.view(np.uint32) if direct else odd_patterns(source, request, supplied, part)
        if sticky or fast_kernels.encode_upper(patterns, table, codes):
            fast_kernels.encode_upper_sticky(patterns, table, codes)

    return Plan(encode, STREAMED if direct else CACHED)


def flagged_by_upper_half(request: Request, dtype: np.dtype[Any]) -> Plan | None:
    fmt, narrow = request.fmt, dtype.itemsize == 2 and dtype.kind not in "iu"
    if not request.rounding.is_monotone or not fmt.signed or fmt.bits > 16:
        return None
    # Subnormal float32 numbers have fewer fraction bits, so they must be far below the target's smallest number.
    if not narrow and (fmt.precision + 1 > _FRACTION or fmt.smallest < 2.0**_LOWEST):
        return None
    if narrow and request.scale is None:
        return None
    from fp9.kernels.round32 import look_up_flagged  # slow to load

    scale = request.scale if narrow else 0
    assert scale is not None
    table = _flagged_table(fmt, request.policy, request.hybrid, scale, dtype if narrow else np.dtype(np.float32))
    direct = dtype == np.float32 and request.scale == 0

    def encode(
        supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]
    ) -> None:
        if narrow:
            look_up_flagged(source.view(np.uint16), table, 0, codes, flags)
        else:
            patterns = source.view(np.uint32) if direct else odd_patterns(source, request, supplied, part)
            look_up_flagged(patterns, table, 16, codes, flags)

    return Plan(encode, CACHED)


@functools.lru_cache(maxsize=64)
def _flagged_table(
    fmt: Format, policy: CastPolicy, hybrid: Hybrid, scale: int, dtype: np.dtype[Any]
) -> NDArray[np.uint32]:
    """Return a table (65536,) of code + 2^16 * flags for each 16-bit source pattern."""
    codes, flags = np.empty(_HALVES, dtype=fmt.dtype), np.empty(_HALVES, dtype=np.uint8)
    whole = slice(0, _HALVES)
    universal(Request(fmt, policy, hybrid, scale, flags=True), dtype).encode(
        NOTHING, whole, _every(dtype), codes, flags
    )
    table = codes.astype(np.uint32) | flags.astype(np.uint32) << np.uint32(16)
    table.flags.writeable = False
    return table


def _every(dtype: np.dtype[Any]) -> NDArray[Any]:
    halves = np.arange(_HALVES, dtype=np.uint32)
    return (halves << 16).view(dtype) if dtype == np.float32 else halves.astype(np.uint16).view(dtype)


def _source_table(request: Request, dtype: np.dtype[Any]) -> NDArray[Any]:
    assert request.scale is not None, "a table is made for one scale"
    return _table_of(request.fmt, request.policy, request.hybrid, request.scale, dtype)


@functools.lru_cache(maxsize=64)
def _table_of(fmt: Format, policy: CastPolicy, hybrid: Hybrid, scale: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    codes = np.empty(_HALVES, dtype=fmt.dtype)
    whole = slice(0, _HALVES)
    universal(Request(fmt, policy, hybrid, scale), dtype).encode(NOTHING, whole, _every(dtype), codes, _NO_FLAGS)
    codes.flags.writeable = False
    return codes


_NO_FLAGS = np.empty(0, dtype=np.uint8)
