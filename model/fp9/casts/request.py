"""Settings and arguments of a cast, and the encoding function that supports every cast."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.casts.random_bits import RandomBits
from fp9.casts.sources import hybrid_thresholds, read_only, scaled, widen
from fp9.casts.tables import rounding_rows, rounding_target
from fp9.formats import Format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import PUBLISHED, Flags, Hybrid, Rounding
from fp9.system.parallel import CACHED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.kernels.counts import Found, Limits


class Supplied(NamedTuple):
    """Arguments of one call of `encode`."""

    scales: NDArray[np.int32] | None = None  # one exponent for each element
    random: RandomBits | None = None


NOTHING = Supplied()

Encode = Callable[[Supplied, slice, "NDArray[Any]", "NDArray[Any]", "NDArray[np.uint8]"], None]


Counted = Callable[["NDArray[Any]", "NDArray[Any]", "Limits"], "Found"]


class Plan(NamedTuple):
    """Encoding plan: a function that encodes a slice of the source array, and the preferred length of a slice."""

    encode: Encode
    part: int
    takes_nan: bool = True
    counted: Counted | None = None
    """Function that encodes a slice and counts its statistics in one pass, or None if no kernel can do both.

    The arguments of `counted` are (source[slice], codes[slice], limits).
    """


@dataclass(frozen=True)
class Request:
    """Settings of a cast. Calls of `encode` with equal settings share one encoding plan."""

    fmt: Format
    policy: CastPolicy
    hybrid: Hybrid = PUBLISHED
    scale: int | None = 0
    random_width: int = 0
    flags: bool = False

    def __hash__(self) -> int:
        # The hash covers only the most important settings, because a hash of all settings is slow.
        own = id(self.policy.rounding), id(self.policy.overflow), self.scale, self.random_width, self.flags
        return hash((self.fmt.name, own))

    @functools.cached_property
    def rounding(self) -> Rounding:
        return self.policy.rounding_for(self.fmt)


def odd_patterns(source: NDArray[Any], request: Request, supplied: Supplied, part: slice) -> NDArray[np.uint32]:
    from fp9.kernels.round32 import narrow_to_odd  # slow to load

    patterns = np.empty(source.size, dtype=np.uint32)
    narrow_to_odd(widened(source, request, supplied, part), patterns)
    return read_only(patterns)[0]


def widened(source: NDArray[Any], request: Request, supplied: Supplied, part: slice) -> NDArray[np.float64]:
    numbers = widen(source)
    if request.scale is None:
        assert supplied.scales is not None, "without a common scale, every element has a scale"
        numbers = scaled(numbers, supplied.scales[part])
    elif request.scale:
        numbers = scaled(numbers, request.scale)
    return read_only(numbers)[0]


def universal(request: Request, dtype: np.dtype[Any]) -> Plan:
    """Return the encoding plan that supports every cast."""
    from fp9.kernels import round64 as kernels  # slow to load

    rows, target = rounding_rows(request.fmt), rounding_target(request.fmt, request.policy)
    mode, switches = kernels.MODES[request.rounding], kernels.switches_of(request.hybrid)
    bits, width = _randoms(request, dtype)

    def encode(
        supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]
    ) -> None:
        numbers, raised = within(request.fmt, widened(source, request, supplied, part))
        patterns = numbers.view(np.int64)
        kernels.encode_bits(*rows, target, mode, patterns, bits(supplied, part, source), width, switches, codes, flags)
        if flags.size:
            flags |= raised

    return Plan(encode, CACHED)


def within(fmt: Format, numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.uint8] | np.uint8]:
    """Replace numbers below the range of an unsigned format, and return the numbers and their exception flags."""
    if fmt.signed or fmt.ends_at_zero:
        return numbers, np.uint8(0)
    outside = numbers < 0 if fmt.has_zero else numbers <= 0
    small = (numbers > 0) & (numbers < fmt.smallest) & (not fmt.has_zero)
    flags = np.where(outside, int(Flags.INVALID), np.where(small, int(Flags.INEXACT | Flags.UNDERFLOW), 0))
    inside = np.where(small, fmt.smallest, numbers)
    return np.where(outside, np.nan, inside), flags.astype(np.uint8)


def _randoms(
    request: Request, dtype: np.dtype[Any]
) -> tuple[Callable[[Supplied, slice, NDArray[Any]], NDArray[np.int64]], int]:
    if request.rounding.reads_source:
        read, width = hybrid_thresholds(dtype, request.hybrid)
        return lambda supplied, part, source: read(source), width
    if not request.random_width:
        return lambda supplied, part, source: _NO_THRESHOLDS, 1
    return lambda supplied, part, source: random_part(supplied, part).astype(np.int64), request.random_width


def random_part(supplied: Supplied, part: slice) -> NDArray[Any]:
    assert supplied.random is not None, "rounding needs random bits"
    return supplied.random.part(part)


_NO_THRESHOLDS = np.zeros(1, dtype=np.int64)
