"""What a call of encode asks for, and the plan that serves every call: the universal kernel over float64 patterns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.casts.random_bits import RandomBits
from fp9.casts.sources import hybrid_thresholds, scaled, widen
from fp9.casts.tables import rounding_rows, rounding_target
from fp9.formats import Format
from fp9.policy import CastPolicy
from fp9.rounding import Flags, Hybrid, Rounding
from fp9.system.parallel import CACHED

if TYPE_CHECKING:
    from numpy.typing import NDArray

Scale = Any  # an integer, or an int32 array of the flat source's shape
Encode = Callable[[slice, "NDArray[Any]", "NDArray[Any]", "NDArray[np.uint8]"], None]


class Plan(NamedTuple):
    """A function of (part, source[part], codes[part], flags[part]), and the number of elements of a good part."""

    encode: Encode
    part: int


@dataclass(frozen=True)
class Request:
    """One call of encode: target, policy, switches, scale, random bits, and whether flags are wanted."""

    fmt: Format
    policy: CastPolicy
    hybrid: Hybrid
    scale: Scale = 0
    random: RandomBits | None = None
    flags: bool = False

    @property
    def rounding(self) -> Rounding:
        """The rounding that applies."""
        return self.policy.rounding_for(self.fmt)

    @property
    def tensor_scale(self) -> int | None:
        """The scale where one integer stands for all elements."""
        return self.scale if isinstance(self.scale, int) else None


def odd_patterns(source: NDArray[Any], scale: Scale, part: slice) -> NDArray[np.uint32]:
    """The numbers of a part times 2**scale as float32 patterns, rounded to odd."""
    from fp9.kernels.round32 import narrow_to_odd

    patterns = np.empty(source.size, dtype=np.uint32)
    narrow_to_odd(_widened(source, scale, part), patterns)
    return patterns


def _widened(source: NDArray[Any], scale: Scale, part: slice) -> NDArray[np.float64]:
    numbers = widen(source)
    if isinstance(scale, int):
        return scaled(numbers, scale) if scale else numbers
    return scaled(numbers, scale[part])


def universal(request: Request, dtype: np.dtype[Any]) -> Plan:
    """Every format, rounding and source, with flags if asked for."""
    from fp9.kernels import round64 as kernels

    rows, target = rounding_rows(request.fmt), rounding_target(request.fmt, request.policy)
    mode, switches = kernels.MODES[request.rounding], kernels.switches_of(request.hybrid)
    bits, width = _randoms(request, dtype)

    def encode(part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
        numbers, raised = _within(request.fmt, _widened(source, request.scale, part))
        patterns = numbers.view(np.int64)
        kernels.encode_bits(*rows, target, mode, patterns, bits(part, source), width, switches, codes, flags)
        if flags.size:
            flags |= raised

    return Plan(encode, CACHED)


def _within(fmt: Format, numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.uint8] | np.uint8]:
    """Numbers that a format without sign and zero can round, and the flags of those that were replaced."""
    if fmt.signed:
        return numbers, np.uint8(0)
    small = (numbers > 0) & (numbers < fmt.smallest)
    flags = np.where(numbers <= 0, int(Flags.INVALID), np.where(small, int(Flags.INEXACT | Flags.UNDERFLOW), 0))
    inside = np.where(small, fmt.smallest, numbers)
    return np.where(numbers <= 0, np.nan, inside), flags.astype(np.uint8)


def _randoms(request: Request, dtype: np.dtype[Any]) -> tuple[Callable[[slice, NDArray[Any]], NDArray[np.int64]], int]:
    """How to get the random bits or thresholds of a part, and their width."""
    if request.rounding.reads_source:
        read, width = hybrid_thresholds(dtype, request.hybrid)
        return lambda _, source: read(source), width
    random = request.random
    if random is None:
        return lambda _, source: _NO_THRESHOLDS, 1
    return lambda part, _: random.part(part).astype(np.int64), random.width


_NO_THRESHOLDS = np.zeros(1, dtype=np.int64)
