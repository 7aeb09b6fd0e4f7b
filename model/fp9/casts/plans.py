"""Selection of the encoding kernel by source type, target format and cast policy.

The kernels form four groups. Tests check that different kernels give the same codes. Until the kernels are loaded,
NumPy operations (`in_numpy`) encode small arrays.

* Vector kernels on float32 bit patterns (`round32`, `hif8`) support target formats whose range lies within float32's
  range. Before a float32 kernel encodes float64 numbers, integers or scaled numbers, the numbers are converted to
  float32 with rounding to odd.
* Look-up tables with 65,536 entries encode 16-bit sources. Casts from float32 to hif8 also use look-up tables.
* Vector kernels on float64 bit patterns (`wide`) support formats that are too wide for the float32 kernels. The `wide`
  kernels also compute exception flags.
* The universal kernel on float64 bit patterns (`round64`) performs the casts that no faster kernel supports.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts import in_numpy
from fp9.casts.doubles import by_doubles
from fp9.casts.halves import TABLE_PAYS, by_upper_half, flagged_by_upper_half, hif8_by_upper_half
from fp9.casts.payloads import around
from fp9.casts.request import Counted, Plan, Request, Supplied, odd_patterns, random_part, universal
from fp9.casts.sources import hybrid_thresholds
from fp9.casts.tables import Target, can_express_nan, edge_codes, rounding_target
from fp9.formats import FixedFormat, HiFloat8, ScaledInteger
from fp9.formats.host import BINARY32
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Hybrid, Rounding
from fp9.system.parallel import CACHED, STREAMED
from fp9.system.warming import stays_in_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.kernels.hif8 import HybridEdges
    from fp9.kernels.round32 import Edges, Grid

TOP_FIELD = BINARY32.top_field - 1


def encoder(request: Request, dtype: np.dtype[Any], size: int, counts: bool = False) -> Plan:
    if not counts and in_numpy.supports(request.rounding) and stays_in_numpy(size):
        return _in_numpy(request, dtype)
    return _compiled(request, dtype).after(size)


class _Compiled:
    """Plans of one cast by kernels. Once the cast has encoded enough numbers to pay for it, a look-up table is used."""

    def __init__(self, request: Request, dtype: np.dtype[Any]) -> None:
        self._request, self._dtype, self._encoded = request, dtype, 0

    def after(self, size: int) -> Plan:
        """Return the plan for `size` numbers more."""
        self._encoded = min(self._encoded + size, TABLE_PAYS)
        return self._with_table if self._encoded == TABLE_PAYS else self._without_table

    @functools.cached_property
    def _without_table(self) -> Plan:
        return self._plan(tables=False)

    @functools.cached_property
    def _with_table(self) -> Plan:
        return self._plan(tables=True)

    def _plan(self, tables: bool) -> Plan:
        return _completed(_plan(self._request, self._dtype, tables), self._request, self._dtype)


_compiled = functools.lru_cache(maxsize=512)(_Compiled)


@functools.lru_cache(maxsize=128)
def _in_numpy(request: Request, dtype: np.dtype[Any]) -> Plan:
    return _completed(in_numpy.plan_of(request), request, dtype)


def _completed(plan: Plan, request: Request, dtype: np.dtype[Any]) -> Plan:
    plan = plan._replace(takes_nan=can_express_nan(request.fmt, request.policy))
    changed = around(plan.encode, request, dtype)
    return plan._replace(encode=changed, counted=plan.counted if changed is plan.encode else None)


def _plan(request: Request, dtype: np.dtype[Any], tables: bool) -> Plan:
    if request.rounding.reads_source:
        hybrid_thresholds(dtype, request.hybrid)  # raises TypeError for source types without threshold bits
    by_table = _by_table(request, dtype) if tables else None
    if request.flags:
        return by_table or by_doubles(request) or universal(request, dtype)
    in_lanes = by_table or _hybrid(request, dtype) or _vector(request, dtype) or by_doubles(request)
    return in_lanes or universal(request, dtype)


def _by_table(request: Request, dtype: np.dtype[Any]) -> Plan | None:
    if request.flags:
        return flagged_by_upper_half(request, dtype)
    narrow = dtype.itemsize == 2 and dtype.kind not in "iu"
    return by_upper_half(request, dtype) if narrow else hif8_by_upper_half(request, dtype)


# --- float32 patterns into vector kernels ---------------------------------------------------------------------------


def _vector(request: Request, dtype: np.dtype[Any]) -> Plan | None:
    if request.rounding.reads_source or (request.random_width and not request.rounding.is_carry):
        return None
    direct = dtype == np.float32 and request.scale is not None
    grid = grid_of(request, request.scale or 0, TOP_FIELD) if direct else grid_of(request, 0, TOP_FIELD - 1)
    if grid is None or not (direct or odd_is_safe(grid)):
        return None
    edges = edges_of(request.fmt.bits, rounding_target(request.fmt, request.policy))
    if edges is None:
        return None
    round_patterns = fixed_rounding(request, grid, edges)

    def encode(
        supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]
    ) -> None:
        patterns = source.view(np.uint32) if direct else odd_patterns(source, request, supplied, part)
        round_patterns(supplied, part, patterns, codes)

    if not direct:
        return Plan(encode, CACHED)
    return Plan(encode, STREAMED, counted=_counted(request, grid, edges))


def _counted(request: Request, grid: Grid, edges: Edges) -> Counted | None:
    from fp9.kernels.counts import encode_nearest_even_counted  # slow to load

    magic = _magic(request, grid)
    if magic is None:
        return None
    return lambda source, codes, limits: encode_nearest_even_counted(
        source.view(np.uint32), *magic, grid, edges, codes, limits
    )


def odd_is_safe(grid: Grid) -> bool:
    """Return whether rounding the source to odd in float32 leaves the result of a cast unchanged."""
    needed = int(grid.fraction_bits) + int(grid.random_width) + 2
    return needed <= BINARY32.fraction_bits and int(grid.lowest) >= needed - BINARY32.fraction_bits


def fixed_rounding(
    request: Request, grid: Grid, edges: Edges
) -> Callable[[Supplied, slice, NDArray[np.uint32], NDArray[Any]], None]:
    from fp9.kernels import round32 as fast_kernels  # slow to load
    from fp9.kernels.compiled import Direct  # slow to load

    complement = request.fmt.twos_complement
    if magic := _magic(request, grid):
        nearest = Direct(fast_kernels.encode_nearest_even)
        return lambda supplied, part, patterns, codes: nearest(patterns, *magic, grid, edges, codes)
    kernel = fast_kernels.ENCODE_FIXED[request.rounding, complement]
    if not request.random_width:
        direct = Direct(kernel)
        return lambda supplied, part, patterns, codes: direct(patterns, NO_BITS, grid, edges, codes)
    return lambda supplied, part, patterns, codes: kernel(
        patterns, _aligned(supplied, part, patterns.size), grid, edges, codes
    )


NO_BITS = np.zeros(1, dtype=np.uint32)


def _aligned(supplied: Supplied, part: slice, size: int) -> NDArray[Any]:
    bits = random_part(supplied, part)
    return bits if bits.size == size else np.full(size, bits[0])


def grid_of(request: Request, scale: int, top: int) -> Grid | None:
    """Return the target format's constants for the float32 kernels, or None for an unsupported format."""
    from fp9.kernels.round32 import Grid  # slow to load

    fmt = request.fmt
    if not isinstance(fmt, FixedFormat | ScaledInteger) or fmt.bits > 16:
        return None
    precision = fmt.precision - 1
    lowest = fmt.quantum(-2 * TOP_FIELD * BINARY32.bias) + precision + BINARY32.bias - scale
    flush = fmt.flushes
    highest = lowest + (fmt.max_code >> precision) - (not flush)
    # The kernels detect overflow by a float32 exponent field above the exponent field of the format's largest number,
    # so float32 must have a higher exponent field.
    if not 1 <= lowest <= highest <= top:
        return None
    width = request.random_width
    return Grid(*(np.uint32(value) for value in (precision, lowest, flush << precision, width)))


def _magic(request: Request, grid: Grid) -> tuple[np.uint32, np.uint32] | None:
    precision, lowest = int(grid.fraction_bits), int(grid.lowest)
    field = lowest - precision + BINARY32.fraction_bits
    by_addition = request.rounding is Rounding.RNE and not request.fmt.twos_complement
    if not by_addition or grid.flush or precision == 0 or field > TOP_FIELD:
        return None
    half = (1 << (BINARY32.fraction_bits - precision - 1)) - 1
    offset = half - ((lowest - 1) << BINARY32.fraction_bits)
    return np.uint32(field << BINARY32.fraction_bits), np.uint32(offset & 0xFFFFFFFF)


@functools.lru_cache(maxsize=256)
def edges_of(bits: int, target: Target) -> Edges | None:
    from fp9.kernels.round32 import TAKES_SIGN, Edges  # slow to load

    edges = edge_codes(target, int(TAKES_SIGN))
    if edges is None:
        return None
    return Edges(*map(np.uint32, (target.max_ordinal, 32 - bits, *edges)))


# --- hybrid rounding ------------------------------------------------------------------------------------------------


def _hybrid(request: Request, dtype: np.dtype[Any]) -> Plan | None:
    if not request.rounding.reads_source or dtype != np.float32 or request.scale != 0:
        return None
    if request.policy.saturates(request.fmt, False) != request.policy.clips(request.fmt, False):
        return None  # the kernel has one code for overflow and infinity
    from fp9.kernels import hif8 as hif8_kernel  # slow to load

    edges = _hybrid_edges(request.policy, request.hybrid)

    def encode(
        supplied: Supplied, part: slice, source: NDArray[Any], codes: NDArray[Any], flags: NDArray[np.uint8]
    ) -> None:
        hif8_kernel.encode_hybrid(source.view(np.uint32), edges, codes)

    return Plan(encode, STREAMED)


_DOC_OVERFLOW = Fraction(3, 2) * 2**15


def _hybrid_edges(policy: CastPolicy, hybrid: Hybrid) -> HybridEdges:
    from fp9.kernels.hif8 import HybridEdges  # slow to load

    fmt = HiFloat8()
    top = fmt.max_code if policy.saturates(fmt, False) else fmt.INF
    certain = _DOC_OVERFLOW if hybrid.doc_overflow else fmt.CERTAIN_OVERFLOW
    pattern = np.float32(float(certain)).view(np.uint32)
    nan = 0 if policy.nan_to_zero else fmt.NAN
    return HybridEdges(np.uint32(hybrid.strict), pattern, np.uint32(top), np.uint32(nan))
