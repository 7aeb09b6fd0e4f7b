"""Numba kernel that casts float32 to HiFloat8 with hybrid rounding (see numerics.md)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fp9.formats import HiFloat8, format
from fp9.formats.host import BINARY32
from fp9.kernels.compiled import kernel
from fp9.kernels.round32 import U

_MAGNITUDE, _FRACTION, _HIDDEN = U(BINARY32.magnitude), U(BINARY32.fraction), U(BINARY32.hidden)
_INF, _ONE_PATTERN = U(BINARY32.infinity), U(BINARY32.pattern(0))
_FIELD_BIAS = BINARY32.bias
_E2, _E4, _E8 = (U(BINARY32.pattern(e)) for e in (2, HiFloat8.STOCHASTIC_FROM, 8))
_DENORMAL, _LOWEST = (U(BINARY32.pattern(e)) for e in (HiFloat8.LOWEST_NORMAL, 1 - HiFloat8.DENORMAL_OFFSET))
_WIDTH = sum(HiFloat8.threshold_bits(format("fp32")))
_THRESHOLD, _HALF = U((1 << _WIDTH) - 1), U(1 << (_WIDTH - 1))
_ZERO, _ONE = U(0), U(1)
_INF_CODE = U(HiFloat8.INF)


class HybridEdges(NamedTuple):
    """Overflow thresholds and codes of special values for hybrid rounding."""

    strict: np.uint32  # 1 for F > T
    certain: np.uint32  # pattern from which overflow does not depend on T
    top: np.uint32  # code of infinity, or of the largest number where saturating
    nan: np.uint32


@kernel
def encode_hybrid(patterns, edges, codes):
    """Convert float32 patterns (uint32, shape (n,)) to hif8 codes, with hybrid rounding."""
    for i in range(patterns.size):
        pattern = patterns[i]
        a = U(pattern & _MAGNITUDE)
        mirrored = U(U(a ^ _INF) - _HIDDEN) if a < _ONE_PATTERN else a
        shift = U(U(U(20) + (_ONE if mirrored >= _E4 else _ZERO)) + (_ONE if mirrored >= _E8 else _ZERO))
        shift = U(23) if a < _DENORMAL else shift
        window = U(24) if a < _LOWEST else shift
        significand = U(U(a & _FRACTION) | _HIDDEN)
        field = U(U(significand >> U(window - U(_WIDTH))) & _THRESHOLD)
        threshold = U(U(pattern & _THRESHOLD) + edges.strict)
        threshold = _HALF if mirrored < _E4 else threshold
        b = U(U(U(a >> shift) + (_ONE if field >= threshold else _ZERO)) << shift)
        # b is the result as a float32 pattern; a carry has moved its exponent and left the fraction 0.
        mirrored = U(U(b ^ _INF) - _HIDDEN) if b < _ONE_PATTERN else b
        code = U(U(mirrored >> U(20)) - U((_FIELD_BIAS << 3) - 8))
        code = U(U(mirrored >> U(20)) - U((_FIELD_BIAS << 3) - 16)) if mirrored >= _E2 else code
        code = U(U(mirrored >> U(21)) - U((_FIELD_BIAS << 2) - 48)) if mirrored >= _E4 else code
        code = U(U(mirrored >> U(22)) - U((_FIELD_BIAS << 1) - 80)) if mirrored >= _E8 else code
        below_one = U(16) if mirrored >= _E2 else U(8)
        code = U(code + (below_one if b < _ONE_PATTERN else _ZERO))
        code = U(U(b >> U(23)) - U(_FIELD_BIAS - 23)) if b < _DENORMAL else code
        code = _ZERO if b < _LOWEST else code
        code = edges.top if code == _INF_CODE or a >= edges.certain else code
        code = U(code | (U(U(pattern >> U(24)) & U(0x80)) if code != _ZERO else _ZERO))
        codes[i] = edges.nan if a > _INF else code
