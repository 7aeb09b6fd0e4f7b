"""Block quantisation with vector kernels, which round elements to nearest even."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.blocks.scales import bf16_reciprocals, scale_codes
from fp9.casts.tables import decode_table
from fp9.formats import FixedFormat, Format, ScaledInteger, UnsignedFloat
from fp9.formats.blocks import BlockFormat, Divisor, ScaleRule
from fp9.formats.host import BINARY32
from fp9.formats.rounding import Rounding
from fp9.system.parallel import STREAMED, over_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fp9.kernels.block_casts import Grid, Steps

    Work = Callable[[NDArray[np.uint32], NDArray[Any], NDArray[np.uint8]], None]

_COUNTED = 8
"""Number of element magnitudes that the comparison kernel supports. The kernel compares a number with every limit."""

_ROW = 16


def fast_blocks(
    rows: NDArray[np.float32],
    block: BlockFormat,
    rule: ScaleRule,
    rounding: Rounding,
    tensor_scale: float,
    threads: int | None,
) -> tuple[NDArray[np.uint8], NDArray[Any]] | None:
    size = rows.shape[1]
    if rule.tries or size % _ROW or size.bit_count() > 1:
        return None
    work = _work(block, rule, rounding, tensor_scale)
    if work is None:
        return None
    patterns = rows.view(np.uint32)
    elements = np.empty(rows.shape, dtype=np.uint8)
    scales = np.empty(len(rows), dtype=np.uint32 if block.levels else block.scale.dtype)
    over_parts(len(rows), threads, lambda part: work(patterns[part], scales[part], elements[part]), STREAMED // size)
    return elements, scales


@functools.lru_cache(maxsize=64)
def _work(block: BlockFormat, rule: ScaleRule, rounding: Rounding, tensor_scale: float) -> Work | None:
    if block.levels:
        return _levelled(block, rule, rounding)
    if rounding is not Rounding.RNE:
        return None
    return _powers(block, rule) if block.powers_of_two else _any_scale(block, rule, tensor_scale)


def _powers(block: BlockFormat, rule: ScaleRule) -> Work | None:
    from fp9.kernels import block_casts as kernels  # slow to load
    from fp9.kernels.compiled import Direct  # slow to load

    steps, element = _steps(block, rule), block.element
    if isinstance(element, ScaledInteger):
        unit, largest = np.float32(2.0**element.bias), np.float32(element.max_code)
        integers = Direct(kernels.scaled_integers)
        return lambda patterns, scales, codes: integers(patterns, steps, unit, largest, scales, codes)
    if not isinstance(element, FixedFormat) or element.flushes:
        return None
    grid, floats = _grid(element), Direct(kernels.scaled_floats)
    return lambda patterns, scales, codes: floats(patterns, steps, grid, scales, codes)


def _steps(block: BlockFormat, rule: ScaleRule) -> Steps:
    from fp9.kernels.block_casts import Steps  # slow to load

    def code(exponent: int, fraction: int) -> int:
        amax = np.array([np.ldexp(1.0 + fraction / BINARY32.hidden, exponent)])
        return int(scale_codes(amax, block, rule)[0])

    base = code(0, 0)
    from_even, from_odd = (_first_above(functools.partial(code, (base + parity) & 1)) for parity in (0, 1))
    nan = block.scale.nan_code(False)
    assert nan is not None, "every scale has a NaN"
    return Steps(base - BINARY32.bias, from_even, from_odd, block.scale.max_code, nan)


def _first_above(code: Callable[[int], int]) -> int:
    low, high = 0, BINARY32.hidden
    start = code(0)
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if code(middle) > start else (middle, high)
    return high


def _grid(fmt: FixedFormat) -> Grid:
    from fp9.kernels.block_casts import Grid  # slow to load

    shift = BINARY32.fraction_bits - fmt.fraction_bits
    lowest = fmt.lowest_exponent + BINARY32.bias
    magic = fmt.quantum(fmt.lowest_exponent) + BINARY32.fraction_bits
    offset = (1 << (shift - 1)) - 1 - ((lowest - 1) << BINARY32.fraction_bits)
    numbers = (
        BINARY32.pattern(magic),
        offset & 0xFFFFFFFF,
        shift,
        lowest << BINARY32.fraction_bits,
        fmt.max_code,
        fmt.bits - 1,
    )
    return Grid(*(np.uint32(number) for number in numbers))


def _any_scale(block: BlockFormat, rule: ScaleRule, tensor_scale: float) -> Work | None:
    found = block.scale
    if not _is_counted(block.element) or not isinstance(found, UnsignedFloat) or not found.has_zero:
        return None
    if rule.divisor is not Divisor.LARGEST or rule.rounding not in (Rounding.RNE, Rounding.RUP):
        return None
    from fp9.kernels import block_casts as kernels  # slow to load
    from fp9.kernels.compiled import Direct  # slow to load

    nan = found.nan_code(False)
    assert nan is not None, "every scale has a NaN"
    lowest, up = found.min_normal_exponent, rule.rounding is Rounding.RUP
    grid = kernels.ScaleGrid(found.fraction_bits, lowest, found.max_code, nan, up)
    divisor = float(block.largest) * tensor_scale
    factors = decode_table(found) * tensor_scale
    factors = np.where(factors > 0, factors, np.inf)[:, np.newaxis]
    limits = _lowest_patterns(factors * _middles(block.element), _ties_up(Rounding.RNE))
    counted = Direct(kernels.counted)
    return lambda patterns, scales, codes: counted(patterns, grid, divisor, limits, scales, codes)


def _is_counted(element: Format) -> bool:
    signed = isinstance(element, FixedFormat) and element.signed_zero
    return signed and len(element.ordered_magnitudes()) == _COUNTED


def _middles(element: Format) -> NDArray[np.float64]:
    numbers = element.table[:_COUNTED]
    return np.asarray((numbers[1:] + numbers[:-1]) / 2)


def _ties_up(rounding: Rounding) -> NDArray[np.bool_]:
    return np.asarray((np.arange(_COUNTED - 1) % 2 == 1) | (rounding is Rounding.RNA))


def _lowest_patterns(bounds: NDArray[np.float64], including: NDArray[np.bool_] | bool) -> NDArray[np.int32]:
    """Return the bit pattern of the smallest float32 number above each bound.

    Where `including` is true, a float32 number that equals the bound is also allowed.
    """
    with np.errstate(over="ignore"):
        near = bounds.astype(np.float32)
    short = np.where(including, near < bounds, near <= bounds)
    return np.asarray(near.view(np.int32) + short, dtype=np.int32)


def _levelled(block: BlockFormat, rule: ScaleRule, rounding: Rounding) -> Work | None:
    from fp9.kernels import block_casts as kernels  # slow to load

    found = block.scale
    if not _is_counted(block.element) or found.has_zero or not rule.reciprocals:
        return None
    if any(group.bit_count() > 1 for group in block.levels) or rounding not in (Rounding.RNE, Rounding.RNA):
        return None
    # The products of a float32 number and a bfloat16 reciprocal are exact in float64, and so are these comparisons.
    reciprocals = bf16_reciprocals(decode_table(found))
    starts = _lowest_patterns(2.0 ** np.arange(len(block.levels), 0, -1)[:, np.newaxis] / reciprocals, True)
    limits = _lowest_patterns(_middles(block.element) / reciprocals[:, np.newaxis], _ties_up(rounding))
    lengths, nan = np.array(block.levels), found.nan_code(False)

    def work(patterns: NDArray[np.uint32], words: NDArray[Any], codes: NDArray[np.uint8]) -> None:
        tops = np.empty(len(patterns), dtype=np.uint32)
        kernels.largest(patterns, tops)
        with np.errstate(invalid="ignore"):  # widening a signalling NaN
            amax = tops.view(np.float32).astype(np.float64)
        own = scale_codes(amax, block, rule)
        kernels.levelled(patterns, lengths, starts, limits, found.bits, nan, own, words, codes)

    return work
