"""Numba kernel of HiFloat8's hybrid rounding from float32, as vector code (see `fast_kernels`; spec section 2.3)."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fp9.casts.sources import Hybrid
from fp9.formats import HiFloat8
from fp9.kernels.round32 import U, kernel
from fp9.oracle.casts import HYBRID_CERTAIN_OVERFLOW
from fp9.policy import CastPolicy, Overflow

_MAGNITUDE, _FRACTION, _HIDDEN = U(0x7FFFFFFF), U(0x007FFFFF), U(0x00800000)
_INF, _ONE_PATTERN = U(0x7F800000), U(0x3F800000)
_FIELD_BIAS = 127


def _pattern(exponent: int) -> np.uint32:
    return U((exponent + _FIELD_BIAS) << 23)


_E2, _E4, _E8 = (_pattern(e) for e in (2, 4, 8))
_DENORMAL, _LOWEST = _pattern(-15), _pattern(-22)
_ZERO, _ONE = U(0), U(1)
_INF_CODE = U(HiFloat8.INF)
_DOC_OVERFLOW = Fraction(3, 2) * 2**15


class HybridEdges(NamedTuple):
    """Where hybrid rounding overflows, and the codes of specials; each an uint32."""

    strict: np.uint32  # 1 for F > T
    certain: np.uint32  # pattern from which overflow does not depend on T
    top: np.uint32  # code of infinity, or of the largest number where saturating
    nan: np.uint32


def hybrid_edges(policy: CastPolicy, hybrid: Hybrid) -> HybridEdges:
    """The edges that a policy and the switches of hybrid rounding ask for."""
    fmt = HiFloat8()
    top = fmt.max_code if policy.overflow is Overflow.SATURATE else fmt.INF
    certain = _DOC_OVERFLOW if hybrid.doc_overflow else HYBRID_CERTAIN_OVERFLOW
    pattern = np.float32(float(certain)).view(np.uint32)
    return HybridEdges(U(hybrid.strict), pattern, U(top), U(0 if policy.nan_to_zero else fmt.NAN))


@kernel
def encode_hybrid(patterns, edges, codes):
    """uint32 patterns of float32, shape (n,), into hif8 codes by hybrid rounding.

    Below 1 the exponent field is mirrored (|E| grows away from 1 on both sides): `mirrored` has the field 127 + |E|,
    and one set of thresholds on it gives the fraction bits, 3 less 1 from |E| = 4 and 1 more from 8.
    """
    for i in range(patterns.size):
        pattern = patterns[i]
        a = U(pattern & _MAGNITUDE)
        mirrored = U(U(a ^ _INF) - _HIDDEN) if a < _ONE_PATTERN else a
        shift = U(U(U(20) + (_ONE if mirrored >= _E4 else _ZERO)) + (_ONE if mirrored >= _E8 else _ZERO))
        shift = U(23) if a < _DENORMAL else shift
        window = U(24) if a < _LOWEST else shift
        significand = U(U(a & _FRACTION) | _HIDDEN)
        field = U(U(significand >> U(window - U(14))) & U(0x3FFF))
        threshold = U(U(pattern & U(0x3FFF)) + edges.strict)
        threshold = U(0x2000) if mirrored < _E4 else threshold
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
