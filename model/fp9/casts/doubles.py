"""Vectorised casts from float64 to formats with fixed field widths, with exception flags."""

from __future__ import annotations

import bisect
import functools
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.request import Plan, Request, Supplied, widened
from fp9.casts.tables import Target, edge_codes, rounding_target
from fp9.formats import FixedFormat, Format, PowerOfTwo, ScaledInteger, UnsignedFloat
from fp9.formats.host import BINARY64
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags, Rounding
from fp9.oracle import casts as oracle
from fp9.system.parallel import CACHED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.kernels.wide import WideTarget


def by_doubles(request: Request) -> Plan | None:
    """Return an encoding plan that uses a float64 vector kernel."""
    if request.rounding.reads_source or request.rounding.needs_bits or request.random_width:
        return None
    target = _wide_target(request.fmt, request.policy, request.flags)
    if target is None:
        return None
    from fp9.kernels.wide import Signs, wide_encoder  # slow to load

    fmt = request.fmt
    signs = (Signs.COMPLEMENT if fmt.twos_complement else Signs.SIGN_BIT) if fmt.signed else Signs.NONE
    kernel, rounding = wide_encoder(request.rounding, signs, request.flags)

    def encode(
        supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]
    ) -> None:
        plain = source.dtype == np.float32 and request.scale == 0
        kernel(source if plain else widened(source, request, supplied, part), target, rounding, codes, flags)

    return Plan(encode, CACHED)


@functools.lru_cache(maxsize=256)
def _wide_target(fmt: Format, policy: CastPolicy, flags: bool) -> WideTarget | None:
    from fp9.kernels.wide import TAKES_SIGN, WideTarget  # slow to load

    if (
        not isinstance(fmt, FixedFormat | ScaledInteger | UnsignedFloat | PowerOfTwo)
        or not 1 <= fmt.precision <= _MOST_BITS
    ):
        return None
    target, fraction_bits = rounding_target(fmt, policy), fmt.precision - 1
    lowest = fmt.quantum(-BINARY64.bias) + fraction_bits + BINARY64.bias
    specials = (target.infinite_flags, target.nan_flags)
    if lowest < 1 or (fmt.signed and any(plus != minus for plus, minus in specials)):
        return None
    edges = edge_codes(target, int(TAKES_SIGN)) if fmt.signed else _unsigned_edges(target)
    if edges is None:
        return None
    starts_at_code_0 = fmt.flushes or not fmt.has_zero
    numbers = (
        *(fraction_bits, lowest, starts_at_code_0 << fraction_bits, target.padding, 64 - fmt.bits, target.max_ordinal),
        *(*edges, specials[0][0], specials[1][0], *_tiny(fmt, policy, flags)),
        *(() if fmt.signed else _outside(fmt, target)),
    )
    return WideTarget(*(np.uint64(number) for number in numbers))


def _tiny(fmt: Format, policy: CastPolicy, flags: bool) -> tuple[int, int]:
    if not fmt.has_zero:
        return _pattern(fmt.smallest), 0
    if not flags or not fmt.can_underflow:
        return 0, 0
    rounding = policy.rounding_for(fmt)
    return _tiny_below(fmt, rounding, False), _tiny_below(fmt, rounding, True)


def _unsigned_edges(target: Target) -> tuple[int, int, int, int]:
    return 0, target.overflow[0], target.infinite[0], target.nan[0]


def _outside(fmt: Format, target: Target) -> tuple[int, ...]:
    least = 0 if fmt.has_zero else _pattern(fmt.smallest)
    flags = Flags.OVERFLOW | Flags.INEXACT if fmt.ends_at_zero else Flags.INVALID
    return least, fmt.ends_at_zero, target.overflow[1], flags, target.infinite[1], target.infinite_flags[1]


def _pattern(number: float) -> int:
    return int(np.float64(number).view(np.uint64))


_MOST_BITS = BINARY64.precision - 1
"""Maximum width of the target significand, so that rounding from float64 drops at least one bit."""


@functools.lru_cache(maxsize=1024)
def _tiny_below(fmt: Format, rounding: Rounding, negative: bool) -> int:
    """Return the float64 pattern of the magnitude below which inexact source numbers underflow."""

    # The slow exact reference needs no kernel, which would have to be compiled first.
    policy, sign = CastPolicy(rounding), -1 if negative else 1

    def flags(pattern: int) -> Flags:
        magnitude = Fraction(float(np.uint64(pattern).view(np.float64)))
        return oracle.encode(oracle.exact(sign * magnitude), fmt, policy)[1]

    def not_tiny(pattern: int) -> bool:
        # Exact results raise no flag. Of two neighbouring patterns, at least one has an inexact result.
        return not (flags(pattern) | flags(pattern + 1)) & Flags.UNDERFLOW

    # A rounding decision changes at a multiple of half an ulp, or just above it. A step is at most a quarter of an ulp,
    # and a wide format has steps of one pattern.
    step = 1 << max(0, BINARY64.fraction_bits - fmt.precision - 1)
    found = step * bisect.bisect_left(range(0, BINARY64.infinity, step), True, lo=1, key=not_tiny)
    just_above = found - step + 1
    return just_above if not_tiny(just_above) else found
