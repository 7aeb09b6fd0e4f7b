"""Which kernel encodes: a plan for a source type, a format and a policy, made once for each call.

Three routes give the same codes (tests hold them equal):

* float32 patterns straight into vector kernels (`fast_kernels`, `hif8_kernel`), for every fixed-field format that lies
  within float32's range; float64, integers and scaled numbers reach them rounded to odd;
* 16-bit sources, and hif8 from float32, by an exact table over all 65,536 upper halves;
* everything else, and flags, by the universal kernel over float64 patterns (`kernels`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.flags import Flags
from fp9.formats import FixedFormat, Format, HiFloat8, Rounding, ScaledInteger
from fp9.parts import CACHED, STREAMED
from fp9.policy import CastPolicy
from fp9.sources import Hybrid, hybrid_thresholds, scaled, widen
from fp9.stochastic import RandomBits
from fp9.tables import rounding_rows, rounding_target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.fast_kernels import Edges, Grid

TABLE_PAYS = 1 << 15
"""Elements from which a table over 65,536 sources is worth its making."""

_FLOAT32_BIAS = 127
_FLOAT32_FRACTION = 23
_TOP_FIELD = 254
_UPPER_HALVES = 1 << 16

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


def encoder(request: Request, dtype: np.dtype[Any], size: int) -> Plan:
    """How to encode parts of a flat source of `size` elements."""
    if request.rounding is Rounding.HYBRID:
        hybrid_thresholds(dtype, request.hybrid)  # a TypeError for sources that have no bits to give
    if request.flags or not request.fmt.signed:
        return _universal(request, dtype)
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        by_table = _by_upper_half(request, dtype, size)
    else:
        by_table = _hif8_by_upper_half(request, dtype, size)
    return by_table or _hybrid(request, dtype) or _vector(request, dtype) or _universal(request, dtype)


# --- float32 patterns into vector kernels ---------------------------------------------------------------------------


def _vector(request: Request, dtype: np.dtype[Any]) -> Plan | None:
    if request.rounding is Rounding.HYBRID:
        return None
    direct = dtype == np.float32 and request.tensor_scale is not None
    grid = _grid(request, request.scale, _TOP_FIELD) if direct else _grid(request, 0, _TOP_FIELD - 1)
    if grid is None or not (direct or _odd_is_safe(grid)):
        return None
    round_patterns = _fixed_rounding(request, grid)

    def encode(part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
        patterns = source.view(np.uint32) if direct else _odd_patterns(source, request.scale, part)
        round_patterns(part, patterns, codes)

    return Plan(encode, STREAMED if direct else CACHED)


def _odd_is_safe(grid: Grid) -> bool:
    """Whether float32 rounded to odd has two bits left below the target's and the random bits, also at its low end."""
    needed = int(grid.fraction_bits) + int(grid.random_width) + 2
    return needed <= _FLOAT32_FRACTION and int(grid.lowest) >= needed - _FLOAT32_FRACTION


def _precision(fmt: FixedFormat | ScaledInteger) -> int:
    """Fraction bits of the widest significand; an integer's are those below its leading bit."""
    return fmt.fraction_bits if isinstance(fmt, FixedFormat) else fmt.max_code.bit_length() - 1


def _odd_patterns(source: NDArray[Any], scale: Scale, part: slice) -> NDArray[np.uint32]:
    from fp9.fast_kernels import narrow_to_odd

    patterns = np.empty(source.size, dtype=np.uint32)
    narrow_to_odd(_widened(source, scale, part), patterns)
    return patterns


def _widened(source: NDArray[Any], scale: Scale, part: slice) -> NDArray[np.float64]:
    numbers = widen(source)
    if isinstance(scale, int):
        return scaled(numbers, scale) if scale else numbers
    return scaled(numbers, scale[part])


def _fixed_rounding(request: Request, grid: Grid) -> Callable[[slice, NDArray[np.uint32], NDArray[Any]], None]:
    from fp9 import fast_kernels

    edges = _edges(request.fmt, request.policy)
    complement = isinstance(request.fmt, ScaledInteger)
    if (magic := _magic(request, grid)) and not complement:
        return lambda _, patterns, codes: fast_kernels.encode_nearest_even(patterns, *magic, grid, edges, codes)
    kernel = fast_kernels.ENCODE_FIXED[request.rounding, complement]
    random = request.random
    return lambda part, patterns, codes: kernel(
        patterns, _NO_BITS if random is None else _aligned(random, part, patterns.size), grid, edges, codes
    )


_NO_BITS = np.zeros(1, dtype=np.uint32)


def _aligned(random: RandomBits, part: slice, size: int) -> NDArray[Any]:
    bits = random.part(part)
    return bits if bits.size == size else np.full(size, bits[0])


def _grid(request: Request, scale: int, top: int) -> Grid | None:
    """The target's spacing for sources that 2**scale multiplies; None where float32's fields 1..top do not cover it.

    Numbers narrowed to float32 need a binade above the format's for what overflows.
    """
    from fp9.fast_kernels import Grid

    fmt = request.fmt
    if not isinstance(fmt, FixedFormat | ScaledInteger) or fmt.bits > 16:
        return None
    precision = _precision(fmt)
    lowest = fmt.quantum(-2 * _TOP_FIELD * _FLOAT32_BIAS) + precision + _FLOAT32_BIAS - scale
    flush = isinstance(fmt, FixedFormat) and not fmt.subnormals
    highest = lowest + (fmt.max_code >> precision) - (not flush)
    if not 1 <= lowest <= highest <= top:
        return None
    width = 0 if request.random is None else request.random.width
    return Grid(*(np.uint32(value) for value in (precision, lowest, flush << precision, width)))


def _magic(request: Request, grid: Grid) -> tuple[np.uint32, np.uint32] | None:
    """The two constants of `encode_nearest_even`; None where another rounding or grid is asked for."""
    precision, lowest = int(grid.fraction_bits), int(grid.lowest)
    field = lowest - precision + _FLOAT32_FRACTION
    if request.rounding is not Rounding.RNE or grid.flush or precision == 0 or field > _TOP_FIELD:
        return None
    half = (1 << (_FLOAT32_FRACTION - precision - 1)) - 1
    offset = half - ((lowest - 1) << _FLOAT32_FRACTION)
    return np.uint32(field << _FLOAT32_FRACTION), np.uint32(offset & 0xFFFFFFFF)


@functools.lru_cache(maxsize=256)
def _edges(fmt: Format, policy: CastPolicy) -> Edges:
    from fp9.fast_kernels import TAKES_SIGN, Edges

    target = rounding_target(fmt, policy)

    def edge(codes: tuple[int, int]) -> np.uint32:
        return np.uint32(codes[0] | int(TAKES_SIGN) if codes[0] != codes[1] else codes[0])

    return Edges(
        np.uint32(target.max_ordinal),
        np.uint32(32 - fmt.bits),
        edge((0, target.sign_mask if target.signed_zero else 0)),
        edge(target.overflow),
        edge(target.infinite),
        edge(target.nan),
    )


# --- hybrid rounding ------------------------------------------------------------------------------------------------


def _hybrid(request: Request, dtype: np.dtype[Any]) -> Plan | None:
    if request.rounding is not Rounding.HYBRID or dtype != np.float32 or request.tensor_scale != 0:
        return None
    from fp9 import hif8_kernel

    edges = hif8_kernel.hybrid_edges(request.policy, request.hybrid)

    def encode(part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
        hif8_kernel.encode_hybrid(source.view(np.uint32), edges, codes)

    return Plan(encode, STREAMED)


# --- tables over upper halves ---------------------------------------------------------------------------------------


def _by_upper_half(request: Request, dtype: np.dtype[Any], size: int) -> Plan | None:
    """16-bit sources: their pattern is the index."""
    if size < TABLE_PAYS or request.tensor_scale is None or request.random is not None:
        return None
    from fp9.fast_kernels import look_up

    table = _source_table(request, dtype)

    def encode(part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
        look_up(source.view(np.uint16), table, codes)

    return Plan(encode, STREAMED)


def _hif8_by_upper_half(request: Request, dtype: np.dtype[Any], size: int) -> Plan | None:
    """hif8 keeps at most 3 fraction bits: bfloat16 rounded to odd has enough for every rounding but sr and hybrid."""
    tapered = isinstance(request.fmt, HiFloat8) and request.rounding not in (Rounding.SR, Rounding.HYBRID)
    if not tapered or size < TABLE_PAYS:
        return None
    from fp9 import fast_kernels

    direct = dtype == np.float32 and request.tensor_scale is not None
    table = _source_table(request if direct else replace(request, scale=0), np.dtype(np.float32))
    sticky = request.rounding not in (Rounding.RNA, Rounding.RTZ)

    def encode(part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]) -> None:
        patterns = source.view(np.uint32) if direct else _odd_patterns(source, request.scale, part)
        if sticky or fast_kernels.encode_upper(patterns, table, codes):
            fast_kernels.encode_upper_sticky(patterns, table, codes)

    return Plan(encode, STREAMED if direct else CACHED)


def _source_table(request: Request, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Codes of all patterns of a 16-bit type, or of all upper halves of float32, by the universal kernel."""
    return _table_of(request.fmt, request.policy, request.hybrid, request.scale, dtype)


@functools.lru_cache(maxsize=64)
def _table_of(fmt: Format, policy: CastPolicy, hybrid: Hybrid, scale: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    halves = np.arange(_UPPER_HALVES, dtype=np.uint32)
    every = (halves << 16).view(dtype) if dtype == np.float32 else halves.astype(np.uint16).view(dtype)
    codes = np.empty(_UPPER_HALVES, dtype=fmt.dtype)
    whole = slice(0, _UPPER_HALVES)
    _universal(Request(fmt, policy, hybrid, scale), dtype).encode(whole, every, codes, _NO_FLAGS)
    codes.flags.writeable = False
    return codes


_NO_FLAGS = np.empty(0, dtype=np.uint8)


# --- the universal kernel -------------------------------------------------------------------------------------------


def _universal(request: Request, dtype: np.dtype[Any]) -> Plan:
    from fp9 import kernels

    rows, target = rounding_rows(request.fmt), rounding_target(request.fmt, request.policy)
    mode, switches = kernels.MODES[request.rounding], request.hybrid.bits
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
    if request.rounding is Rounding.HYBRID:
        read, width = hybrid_thresholds(dtype, request.hybrid)
        return lambda _, source: read(source), width
    random = request.random
    if random is None:
        return lambda _, source: _NO_THRESHOLDS, 1
    return lambda part, _: random.part(part).astype(np.int64), random.width


_NO_THRESHOLDS = np.zeros(1, dtype=np.int64)
