"""Convert exactly representable numbers to codes, without rounding."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.plans import NO_BITS, TOP_FIELD, edges_of, encoder, grid_of
from fp9.casts.request import NOTHING, Plan, Request
from fp9.casts.sources import read_only
from fp9.casts.tables import rounding_target
from fp9.formats import Format, Kind
from fp9.formats.policy import cast_policy
from fp9.formats.rounding import Overflow, Rounding
from fp9.kernels.compiled import Direct
from fp9.kernels.round32 import ENCODE_FIXED


def codes_of(values: NDArray[Any], fmt: Format) -> NDArray[Any]:
    """Return the codes of numbers that a format represents exactly."""
    if fmt.padded_dtype == "float32":
        codes = values.astype(np.float32, copy=False).view(np.uint32)
    else:
        codes = np.empty(values.shape, dtype=fmt.dtype)
        source, flat, plan = values.reshape(-1), codes.reshape(-1), _writing(fmt, values.dtype, values.size)
        for start in range(0, source.size, plan.part):
            part = slice(start, start + plan.part)
            plan.encode(NOTHING, part, source[part], flat[part], _NO_FLAGS)
    nan = np.isnan(values)
    if np.count_nonzero(nan):
        codes[nan] = _canonical_nan(fmt)
    return codes


@functools.lru_cache(maxsize=64)
def narrowing(fmt: Format) -> Callable[[NDArray[np.uint32]], NDArray[Any]] | None:
    """Return a function from float32 patterns (n,) of finite numbers to codes, or None without a suitable kernel."""
    if fmt.padded_dtype == "float32":
        return lambda patterns: patterns
    request = _request(fmt)
    grid, edges = grid_of(request, 0, TOP_FIELD), edges_of(fmt.bits, rounding_target(fmt, request.policy))
    if grid is None or edges is None:
        return None
    kernel = Direct(ENCODE_FIXED[request.rounding, fmt.twos_complement])

    def codes_of_patterns(patterns: NDArray[np.uint32]) -> NDArray[Any]:
        codes = np.empty(patterns.size, dtype)
        kernel(patterns, NO_BITS, grid, edges, codes)
        return codes

    dtype = fmt.dtype
    codes_of_patterns(*read_only(np.zeros(1, dtype=np.uint32)))  # casts use the same kernel, with read-only patterns
    return codes_of_patterns


@functools.lru_cache(maxsize=64)
def _canonical_nan(fmt: Format) -> int:
    nan = fmt.nan_code(False)
    assert nan is not None and fmt.kind_of(nan) is Kind.NAN
    return nan


_NO_FLAGS = np.empty(0, dtype=np.uint8)


def _writing(fmt: Format, dtype: np.dtype[Any], size: int) -> Plan:
    return encoder(_request(fmt), dtype, size)


@functools.lru_cache(maxsize=64)
def _request(fmt: Format) -> Request:
    return Request(fmt, cast_policy(fmt, Rounding.RTZ, Overflow.INF, nan_to_zero=False, inf_clip=False))
