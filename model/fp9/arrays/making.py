"""Functions that convert numbers to arrays of codes in a number format. `quantise` also computes scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from fp9.arrays.array import Array
from fp9.arrays.block_arrays import BlockArray
from fp9.blocks import BlockFormat, block_format, blocks_of
from fp9.blocks import dequantise as dequantise_codes
from fp9.blocks import quantise as quantise_codes
from fp9.blocks import tensor_scale as scale_of_tensor
from fp9.casts import measures
from fp9.casts.arrays import CastOptions, encode
from fp9.engines import Engine
from fp9.formats import BLOCK_NAMES, NAMED, Format
from fp9.formats import format as find_format
from fp9.formats.rounding import Rounding

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

AXES: dict[str, Any] = {"tensor": None, "row": -1, "column": -2}
"""Axis whose numbers share a scale, for the named values of `per`."""


def array(
    x: ArrayLike, fmt: Format | str, *, accumulator: Engine | str | None = None, **options: Unpack[CastOptions]
) -> Array:
    """Return an `fp9.Array` with the numbers `x`, rounded to a format.

    `options` are keyword arguments of `fp9.encode`, such as `rounding`.

    If the option `scale` is k, the array stores the codes of `x` * 2**-k, and k as the array's scale exponent. The
    array's numbers are the numbers of the codes times 2**k, so they approximate `x`. `accumulator` is the accumulator
    model that `a @ b` uses (see `fp9.accumulator`).

    >>> array([[1.0, 1e9]], "e5m2", overflow="inf")
    Array([[1.0, inf]], e5m2)
    >>> array([1000.0, 3000.0], "e4m3", scale=3)
    Array([1024.0, 3072.0], e4m3, scales=3)
    """
    scale = options.get("scale", 0)
    scales = None if isinstance(scale, int) and scale == 0 else scale
    return Array(encode(x, fmt, **options), fmt, scales=scales, accumulator=accumulator)


def quantise(
    x: ArrayLike,
    fmt: Format | BlockFormat | str,
    axis: int = -1,
    rule: str | None = None,
    *,
    per: str | int | None = None,
    rounding: Rounding | str | None = None,
    random_bits: ArrayLike | None = None,
    random_width: int = 16,
    rng: Any = None,
    tensor_scale: float | np.float32 | str | None = None,
    square: bool = False,
    threads: int | None = None,
    accumulator: Engine | str | None = None,
) -> Array:
    """Quantise the numbers `x` with computed scales, and return an array whose numbers approximate `x`.

    Each scale is computed from the largest magnitude of the numbers that share the scale.

    - `x`: float64, float32, float16, bfloat16 or integers. Each number is divided by its scale, and the quotient is
      rounded once.
    - `fmt`: a block format (`fp9.block_formats()`), or a format without block scales (`fp9.formats()`). The elements of
      a block lie along `axis` and share a scale.
    - `per` says which numbers share a scale, for formats other than block formats. With `per="tensor"`, the default,
      all numbers share a scale. With `per="row"`, all numbers along the last axis share a scale. With `per="column"`,
      all numbers along the second-last axis share a scale. If `per` is an integer, each block of `per` numbers along
      `axis` shares a scale.
    - `rule`: the scale rule of blocks. For a format without block scales, such as `e4m3`, a scale is the lowest power
      of two at which no number saturates.
    - `rounding`: the rounding mode of the elements, by default the format's rounding mode. `fp9.encode` describes
      `random_bits`, `random_width` and `rng`.
    - `tensor_scale`: an FP32 number that multiplies an NVFP4 array, or "amax" to use `fp9.blocks.tensor_scale`.
    - `square`: whether each block is a square over the last two axes, with the block length as the length of its sides.
    - `accumulator`: the accumulator model that products `a @ b` of the returned array use (see `fp9.accumulator`).

    >>> import fp9
    >>> quantise([[1.0, -0.5, 500.0, 3.0]], "mxfp8_e4m3", rule="rceil")
    BlockArray([[1.0, -0.5, 512.0, 3.0]], mxfp8_e4m3)
    >>> quantise([[1.0, 3.0], [1000.0, -4000.0]], "e4m3", per="row").scales.tolist()
    [[-7], [4]]

    Raises ValueError for an unknown name of a format, rule or rounding mode, and for axes and options that do not fit
    the format. `fp9.blocks.RULES` names the publications of the scale rules.
    """
    random: Any = {"rounding": rounding, "random_bits": random_bits, "random_width": random_width, "rng": rng}
    block = _block(fmt, per)
    if block is None:
        refused = [n for n, given in (("rule", rule), ("tensor_scale", tensor_scale), ("square", square)) if given]
        if refused:
            raise ValueError(
                f"{refused[0]} given for scales per {per or 'tensor'}; only blocks take it: give the length of a "
                "block as per"
            )
        scales = measures.amax_scale(x, find_format(fmt), _shared_axis(per, np.ndim(x)))
        return array(x, find_format(fmt), scale=scales, threads=threads, accumulator=accumulator, **random)
    if isinstance(tensor_scale, str):
        if tensor_scale != "amax":
            raise ValueError(f"tensor_scale {tensor_scale!r} given; give a FP32 number or 'amax'")
        tensor_scale = scale_of_tensor(x, block, rule)
    options: Any = {**random, "tensor_scale": tensor_scale, "square": square, "threads": threads}
    found = quantise_codes(x, block, axis, rule, **options)
    whole: Any = None if tensor_scale is None else float(tensor_scale)
    return BlockArray(
        found.elements, found.scales, block, axis, tensor_scale=whole, square=square, accumulator=accumulator
    )


def _block(fmt: Any, per: str | int | None) -> BlockFormat | None:
    named = isinstance(fmt, BlockFormat) or (isinstance(fmt, str) and BLOCK_NAMES.find(fmt) is not None)
    single = isinstance(fmt, str) and fmt.strip().lower() in NAMED  # mxint8 is both: blocks of integers of that name
    if named and per is not None and not single:
        raise ValueError(f"per={per!r} given with block format {fmt}; its blocks share scales: leave per out")
    if named and per is None:
        return block_format(fmt)
    if isinstance(per, int | np.integer) and not isinstance(per, bool):
        return blocks_of(find_format(fmt), int(per))
    return None


def _shared_axis(per: Any, dimensions: int) -> int | None:
    if per is None:
        return None
    if not isinstance(per, str) or per not in AXES:
        wrong = ValueError if isinstance(per, str) else TypeError
        raise wrong(f"per={per!r} given; give {', '.join(map(repr, AXES))} or the length of a block")
    if AXES[per] is not None and dimensions < -AXES[per]:
        raise ValueError(f"per={per!r} given for an array of {dimensions} axes; give per='tensor'")
    return AXES[per]  # type: ignore[no-any-return]


def dequantise(elements: Any, scales: Any = None, block: Any = None, axis: int = -1, **options: Any) -> NDArray[Any]:
    """Return the numbers that an array from `quantise` represents.

    Like `fp9.blocks.dequantise`, the function also accepts element codes, scale codes and a block format.

    >>> dequantise(quantise([[1.0, 500.0]], "mxfp8_e4m3")).tolist()
    [[1.0, 448.0]]
    """
    if isinstance(elements, Array):
        if scales is not None or block is not None or options:
            raise ValueError("scales or a block format given with an array that states them; give only the array")
        return elements.numbers()
    if scales is None or block is None:
        raise TypeError("codes of elements given without scales and block; give all three, or a quantised array")
    return dequantise_codes(elements, scales, block, axis, **options)


def fake_quantise(x: ArrayLike, fmt: Format | BlockFormat | str, **options: Any) -> NDArray[Any]:
    """Round numbers to a format or block format. The result has the dtype of `x`, or float32 if `x` holds integers.

    If `fmt` is a block format, or if `per` is given, `options` are keyword arguments of `quantise`. If `fmt` is not a
    block format and `per` is not given, `options` are keyword arguments of `encode`, except `out`. If the dtype of `x`
    cannot represent a quantised number, the quantised number is rounded to this dtype.

    >>> fake_quantise([0.3, 1000.0], "e4m3", scale=2).tolist()
    [0.3125, 1024.0]
    >>> fake_quantise(np.float32([[1.0, -0.3]]), "nvfp4").dtype.name
    'float32'
    """
    per = options.pop("per", None)
    if per is None and _block(fmt, None) is None:
        return measures.fake_quantise(x, fmt, **options)  # type: ignore[arg-type]
    numbers = quantise(x, fmt, per=per, **options).numbers()
    return numbers.astype(measures.dtype_of_result(x), copy=False)
