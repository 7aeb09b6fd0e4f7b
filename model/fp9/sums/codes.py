"""Convert exactly representable numbers to codes, without rounding."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.plans import encoder
from fp9.casts.request import NOTHING, Plan, Request
from fp9.formats import Format, Kind
from fp9.formats.policy import cast_policy
from fp9.formats.rounding import Overflow, Rounding


def codes_of(values: NDArray[Any], fmt: Format) -> NDArray[Any]:
    """Return the codes of numbers that a format represents exactly. NaN becomes the canonical NaN code."""
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
