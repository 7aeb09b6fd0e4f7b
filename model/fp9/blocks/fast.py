"""Block quantisation with vector kernels, which round elements to nearest even."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.blocks.scales import scale_codes
from fp9.casts.tables import decode_table
from fp9.formats import FixedFormat, ScaledInteger, UnsignedFloat
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
    if rounding is not Rounding.RNE or rule.tries or block.levels or size % _ROW or size.bit_count() > 1:
        return None
    work = _powers(block, rule) if block.powers_of_two else _any_scale(block, rule, tensor_scale)
    if work is None:
        return None
    patterns = rows.view(np.uint32)
    elements = np.empty(rows.shape, dtype=np.uint8)
    scales = np.empty(len(rows), dtype=block.scale.dtype)
    over_parts(len(rows), threads, lambda part: work(patterns[part], scales[part], elements[part]), STREAMED // size)
    return elements, scales


def _powers(block: BlockFormat, rule: ScaleRule) -> Work | None:
    from fp9.kernels import block_casts as kernels  # slow to load

    steps, element = _steps(block, rule), block.element
    if isinstance(element, ScaledInteger):
        unit, largest = np.float32(2.0**element.bias), np.float32(element.max_code)
        return lambda patterns, scales, codes: kernels.scaled_integers(patterns, steps, unit, largest, scales, codes)
    if not isinstance(element, FixedFormat) or element.flushes:
        return None
    grid = _grid(element)
    return lambda patterns, scales, codes: kernels.scaled_floats(patterns, steps, grid, scales, codes)


@functools.cache
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
    element, found = block.element, block.scale
    small = isinstance(element, FixedFormat) and element.signed_zero and len(element.ordered_magnitudes()) == _COUNTED
    if not small or not isinstance(found, UnsignedFloat) or not found.has_zero or rule.divisor is not Divisor.LARGEST:
        return None
    if rule.rounding not in (Rounding.RNE, Rounding.RUP):
        return None
    from fp9.kernels import block_casts as kernels  # slow to load

    nan = found.nan_code(False)
    assert nan is not None, "every scale has a NaN"
    lowest, up = found.min_normal_exponent, rule.rounding is Rounding.RUP
    grid = kernels.ScaleGrid(found.fraction_bits, lowest, found.max_code, nan, up)
    divisor = float(block.largest) * tensor_scale
    limits = _limits(element.table[:_COUNTED], decode_table(found) * tensor_scale)
    return lambda patterns, scales, codes: kernels.counted(patterns, grid, divisor, limits, scales, codes)


def _limits(numbers: NDArray[np.float64], factors: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the smallest float32 bit pattern that quantises to each nonzero element magnitude, for every scale factor.

    `numbers` holds the element magnitudes in rising order, from zero. The result has the shape (factors, magnitudes -
    1).
    """
    middles = np.where(factors > 0, factors, np.inf)[:, np.newaxis] * (numbers[1:] + numbers[:-1]) / 2
    with np.errstate(over="ignore"):
        near = middles.astype(np.float32)
    ties_up = np.arange(len(numbers) - 1) % 2 == 1
    short = np.where(ties_up, near < middles, near <= middles)
    return np.asarray(near.view(np.int32) + short, dtype=np.int32)
