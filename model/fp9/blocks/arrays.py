"""Conversion of arrays to and from block formats, with a named scale rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.blocks.fast import fast_blocks
from fp9.blocks.layout import Layout
from fp9.blocks.levels import factors_of
from fp9.blocks.quotients import Quotients, by_casts
from fp9.casts.arrays import as_codes, as_numbers, decode_to
from fp9.casts.random_bits import RandomBits, Rng, random_bits_of
from fp9.casts.sources import check_switches, check_work, widen
from fp9.formats.blocks import BlockFormat, ScaleRule, block_format
from fp9.formats.dtypes import carried
from fp9.formats.host import BINARY64
from fp9.formats.policy import CastPolicy, cast_policy
from fp9.formats.rounding import Overflow, Rounding

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Quantised(NamedTuple):
    """Result of `quantise`: element codes in the shape of the source array, and one scale code per block."""

    elements: NDArray[Any]
    scales: NDArray[Any]


def quantise(
    x: ArrayLike,
    block: BlockFormat | str,
    axis: int = -1,
    rule: str | None = None,
    *,
    rounding: Rounding | str | None = None,
    random_bits: ArrayLike | None = None,
    random_width: int = 16,
    rng: Rng | None = None,
    tensor_scale: float | np.float32 | None = None,
    square: bool = False,
    threads: int | None = None,
) -> Quantised:
    """Cast an array to a block format, and return the codes of the elements and of the scales.

    The element codes are uint8 in the shape of `x`. The array of scale codes has one code per block, so its length
    along `axis` is the number of blocks along `axis`.

    - `x`: float64, float32, float16, bfloat16 or integers. Each number is divided by its scale, and the quotient is
      rounded once.
    - `rule`: the scale rule, by default the first rule of the block format.
    - `rounding`: the rounding mode of the elements. Elements above the largest number saturate.
    - `random_bits`, `random_width` and `rng`: the random bits of stochastic rounding (see `fp9.encode`).
    - `tensor_scale`: an FP32 number that multiplies all elements of the array (see the function `tensor_scale`).
    - `square`: whether each block is a square over the last two axes, with the block length as the length of its sides.

    >>> import numpy as np
    >>> x = np.float32([1.0, -0.5, 448.0, 3.0])
    >>> [codes.tolist() for codes in quantise(x, "mxfp8_e4m3")]
    [[56, 176, 126, 68], [127]]

    Raises ValueError for unknown names, and for shapes and rounding modes that do not fit the block format. With the
    scale rule 4over6, numbers that float32 cannot hold also raise ValueError. Sources: `fp9.blocks.RULES` and
    docs/reference/formats/blocks.md.
    """
    check_work(threads)
    found = block_format(block)
    chosen, policy = found.rule(rule), cast_policy(found.element, rounding, Overflow.SATURATE, False, False)
    if rounding is None:
        policy = CastPolicy(found.rounding)
    numbers, scale = _numbers(x, chosen), _checked_tensor_scale(found, tensor_scale)
    layout = layout_of(numbers.shape, found, axis, square)
    random = random_bits_of(policy, random_bits, random_width, None, numbers.shape, found.element, rng)
    rows = layout.blocks(numbers)
    narrow = rows.dtype == np.float32
    fast = fast_blocks(rows, found, chosen, policy.rounding_for(found.element), scale, threads) if narrow else None
    elements, scales = fast or by_casts(rows, Quotients(found, chosen, policy, scale, _in_blocks(random, layout)))
    return Quantised(layout.elements(elements), layout.scales(scales))


def dequantise(
    elements: ArrayLike,
    scales: ArrayLike,
    block: BlockFormat | str,
    axis: int = -1,
    *,
    tensor_scale: float | np.float32 | None = None,
    square: bool = False,
    dtype: Any = np.float64,
) -> NDArray[Any]:
    """Return the exact products of elements and scales in float64, in the shape of `elements`.

    Another `dtype` rounds every product once.

    >>> dequantise([[56, 176]], [[130]], "mxfp8_e4m3").tolist()
    [[8.0, -4.0]]

    Raises ValueError if the shapes do not match or a code does not exist in its format. Raises TypeError for codes that
    are not integers.
    """
    found = block_format(block)
    scale = _checked_tensor_scale(found, tensor_scale)
    codes = as_codes(elements, found.element)
    layout = layout_of(codes.shape, found, axis, square)
    shared = np.asarray(scales)
    if shared.shape != layout.scales_shape:
        raise ValueError(
            f"scales of shape {shared.shape} given for elements of shape {codes.shape}; {found.name} has "
            f"{layout.scales_shape} of them"
        )
    numbers = decode_to(layout.blocks(codes), found.element, np.float64)
    factors = factors_of(layout.of_blocks(shared), found)
    with np.errstate(over="ignore"):  # a number above the range of `dtype` becomes infinity
        return layout.elements((numbers * factors * scale).astype(dtype))


def tensor_scale(x: ArrayLike, block: BlockFormat | str = "nvfp4", rule: str | None = None) -> np.float32:
    """Return the FP32 scale of a whole tensor, computed from its largest magnitude (amax) and rounded to nearest.

    For NVFP4, the tensor scale is amax / (6 * 448), where 6 is the largest element and 448 is the largest block scale.
    For the scale rule 4over6, the tensor scale is amax / (6 * 256). Infinities and NaN are ignored. The tensor scale is
    1 for an array of zeros, and never below the smallest normal FP32 number.

    Raises ValueError for block formats without a tensor scale.
    """
    found = block_format(block)
    if not found.tensor:
        raise ValueError(f"{found.name} has no scale of the whole array; nvfp4 has one")
    chosen, sizes = found.rule(rule), np.abs(_numbers(x))
    amax = float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))
    tiny = float(np.finfo(np.float32).tiny)
    return np.float32(max(amax / float(found.tensor_divisor(chosen)), tiny) if amax else 1.0)


# --- arguments ------------------------------------------------------------------------------------------------------


def _numbers(x: ArrayLike, rule: ScaleRule | None = None) -> NDArray[Any]:
    """Return x as float32 if float32 can represent all its numbers, and otherwise as float64."""
    source = as_numbers(x if type(x) is np.ndarray or carried(x) is None else np.asarray(x))
    if source.dtype == np.float32:
        return source
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = np.asarray(source, dtype=np.float32)
    if source.dtype.kind not in "iu" and source.dtype != np.float64:
        return narrow
    if bool(((narrow == source) | (narrow != narrow) & (source != source)).all()):
        return narrow
    if rule is not None and rule.tries:
        raise ValueError(
            f"a number that float32 does not hold given with rule {rule.name}, which compares errors in float64; "
            "round it first, as x.astype(np.float32), or name another rule"
        )
    # The float64 numbers are rounded to odd with significands of 44 bits. Midpoints between elements or scales have
    # significands of at most 32 bits, so rounding to odd moves no number to or across a midpoint.
    patterns = widen(source).view(np.int64)
    dropped = (1 << _DROPPED) - 1
    odd = patterns & ~dropped | np.where(patterns & dropped, 1 << _DROPPED, 0)
    return np.where(np.isfinite(source), odd.view(np.float64), source.astype(np.float64))


_DROPPED = BINARY64.precision - 44


def _checked_tensor_scale(block: BlockFormat, scale: float | np.float32 | None) -> float:
    if scale is None:
        return 1.0
    if not block.tensor:
        raise ValueError(f"tensor_scale given for {block.name}; nvfp4 takes one")
    if np.ndim(scale) or np.asarray(scale).dtype.kind not in "fiu":
        raise TypeError(f"tensor_scale of type {type(scale).__name__} given; give one number, such as np.float32(0.1)")
    number = float(scale)
    if not np.finfo(np.float32).tiny <= number < np.inf or float(np.float32(number)) != number:
        raise ValueError(f"tensor_scale {scale} given; give a positive normal number of FP32, such as np.float32(0.1)")
    return number


def layout_of(shape: tuple[int, ...], block: BlockFormat, axis: int, square: bool) -> Layout:
    if not shape:
        raise ValueError("a single number given; give an array of one axis or more")
    check_switches(square=square)
    if square and block.levels:
        raise ValueError(f"square blocks of {block.name} asked for; its groups lie along one axis")
    return Layout(shape, block.length, axis, square)


def _in_blocks(random: RandomBits | None, layout: Layout) -> RandomBits | None:
    if random is None or random.values.size == 1:
        return random
    return RandomBits(layout.blocks(random.values.reshape(layout.shape)).reshape(-1), random.width)
