"""Dot products and matrix products of arrays, computed with a chosen accumulator model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.arrays.array import Array
from fp9.arrays.block_arrays import BlockArray
from fp9.arrays.functions import Held
from fp9.arrays.stated import required_accumulator, stated_accumulator
from fp9.casts.arrays import decode, encode
from fp9.engines import Engine
from fp9.engines import engine as find_engine
from fp9.formats import Format
from fp9.formats import format as find_format
from fp9.sums import products

if TYPE_CHECKING:
    from typing import Unpack

    from numpy.typing import ArrayLike

    from fp9.sums.operands import Operand

DEFAULT = "fma_fp32"


class ProductOptions(products.SumOptions, total=False):
    """Keyword arguments that `dot` and `matmul` accept."""

    flags: bool


def matmul(
    a: ArrayLike | Operand | Array,
    b: ArrayLike | Operand | Array,
    format_a: Format | str | None = None,
    format_b: Format | str | None = None,
    engine: Engine | str | None = None,
    c: ArrayLike | None = None,
    **options: Unpack[ProductOptions],
) -> Any:
    """Return the matrix product a (..., M, K) x b (..., K, N) + c (..., M, N) in the accumulator's output format.

    The accumulator adds the products of each result element in the order k = 0, 1, ..., K - 1. For `fp9.Array`
    operands, the function returns an `fp9.Array`, with all scales applied. If the operands are plain codes, or if `out`
    is given, the result is an array of plain codes. With `flags`, the function also returns exception flags, a uint8
    array of `fp9.Flags` bits.

    `engine` is the name of an accumulator preset or device, or an `Engine`. By default, `matmul` uses the attribute
    `accumulator` of the operands, or else the accumulator that the context manager `fp9.accumulator` has set, or else
    `fma_fp32`.

    All other arguments, and the errors raised, are the same as for `fp9.dot`. Leading axes broadcast as in
    `numpy.matmul`. `scale_a` is one exponent, or an array of exponents with the shape (..., M). `scale_b` is one
    exponent, or an array of exponents with the shape (..., N). If `block` is given, `scale_a` has the shape (..., M,
    blocks), and `scale_b` has the shape (..., blocks, N). `threads` is the maximum number of threads, by default one
    per core. `matmul` repeatedly calls the function `progress` with the completed fraction of the work.

    >>> import fp9
    >>> fp9.matmul(fp9.array([[1.0, 2.0]], "e4m3"), fp9.array([[3.0], [4.0]], "e5m2"), engine="hopper")
    Array([[11.0]], e8m13)
    >>> one = fp9.encode([[1.0, 2.0]], "e4m3")
    >>> fp9.decode(fp9.matmul(one, one.T, "e4m3", "e4m3"), "fp32").tolist()
    [[5.0]]
    """
    return _product(products.matmul, (a, b), (format_a, format_b), engine, c, dict(options))


def dot(
    a: ArrayLike | Operand | Array,
    b: ArrayLike | Operand | Array,
    format_a: Format | str | None = None,
    format_b: Format | str | None = None,
    engine: Engine | str | None = None,
    c: ArrayLike | None = None,
    **options: Unpack[ProductOptions],
) -> Any:
    """Return dot products over the last axis. The products are added in order, starting from `c`.

    - `a`, `b`: arrays that state their format (`fp9.Array`, ml_dtypes, en_dtypes, torch), operands (`fp9.operand`), or
      codes with `format_a` and `format_b`. The shapes of the operands broadcast, and their last axes must have equal
      lengths.
    - `c`: the initial value of each sum, +0 by default. `c` has the accumulator's output format, and the shape of the
      result. `format_c` states the format if `c` holds plain codes.
    - `engine`: the accumulator model, as an `Engine` or by its name. The default accumulator is the same as in
      `matmul`.
    - `scale_a`, `scale_b`: exponents k, from -127 to 127, of the scales 2**k. Give one exponent, or one per vector.
      With `block` = n, the last axis of the scales holds one exponent for every n consecutive elements of a vector. The
      accumulator model's field `scaling` states whether scales multiply products or sums.
    - `scale_format`: the format of the scales if the scales are codes (e8m0, ue4m3, ue5m3 or e6m2). A NaN scale makes
      the result NaN.
    - `random_bits`: integers of `random_width` bits for stochastic rounding. The last axis of `random_bits` holds one
      integer for every rounding (see `Engine.steps`), and one more if a scale multiplies the whole sum.
    - `rng`: a seed or a NumPy Generator for stochastic rounding, instead of `random_bits`.

    >>> import fp9
    >>> x = fp9.array([1.0, 2.0, 3.0], "e4m3")
    >>> fp9.dot(x, x, engine="hopper")
    Array(14.0, e8m13)

    Raises ValueError for shapes that do not match, and for scales and formats that the engine does not accept. Raises
    TypeError for codes that are not integers or have no format, and if `flags` is not a boolean.
    """
    return _product(products.dot, (a, b), (format_a, format_b), engine, c, dict(options))


def stated_product(a: Array, b: Array, matrices: bool) -> Any:
    """Return `a @ b`, computed with the accumulator model of the arrays.

    If the arrays have no accumulator model, the function uses the model set with `fp9.accumulator`.
    """
    engine = required_accumulator(a.accumulator, b.accumulator)
    called = products.matmul if matrices and a.ndim > 1 and b.ndim > 1 else products.dot
    if called is products.matmul or a.ndim == b.ndim == 1 or not matrices:
        return _product(called, (a, b), (None, None), engine, None, {})
    if a.ndim == 1:
        return stated_product(a.reshape(1, -1), b, matrices)[..., 0, :]
    return stated_product(a, b.reshape(-1, 1), matrices)[..., 0]


Held.product = staticmethod(stated_product)


class _Factor(NamedTuple):
    codes: Any
    format: Format | str | None
    scales: Any = None
    scale_format: str | None = None
    block: int | None = None
    tensor_scale: float = 1.0


def _product(called: Any, factors: Any, formats: Any, engine: Any, c: Any, options: dict[str, Any]) -> Any:
    arrays = [one for one in factors if isinstance(one, Array)]
    owners = [one.accumulator for one in arrays]
    chosen = (stated_accumulator(*owners) or find_engine(DEFAULT)) if engine is None else find_engine(engine)
    if not arrays:
        return called(*factors, *formats, chosen, c, **options)
    right = -2 if called is products.matmul else -1
    a, b = (_factor(*given) for given in zip(factors, formats, (-1, right), strict=True))
    scaled = {} if a.scales is b.scales is None else _scale_options(a, b, options)
    result = called(a.codes, b.codes, a.format, b.format, chosen, c, **options, **scaled)
    codes, *flags = result if options.get("flags") else (result,)
    if (alpha := np.float32(a.tensor_scale * b.tensor_scale)) != 1:
        if c is not None:
            raise ValueError("c given with arrays that have a tensor_scale; add it to the product afterwards")
        numbers = decode(codes, chosen.output).astype(np.float64) * float(alpha)
        codes[...], raised = encode(numbers, chosen.output, overflow="inf", flags=True)
        flags = [one | raised for one in flags]
    if options.get("out") is None:
        owner = next((one for one in owners if one is not None), None)
        codes = Array(codes, chosen.output, accumulator=owner)
    return (codes, *flags) if flags else codes


def _factor(x: Any, fmt: Any, axis: int) -> _Factor:
    if not isinstance(x, Array):
        return _Factor(x, fmt)
    if isinstance(x, BlockArray):
        return _blocks(x, fmt, axis)
    if fmt is not None and find_format(fmt) != x.format:
        raise ValueError(f"an array of {x.format.name} given as codes of {find_format(fmt).name}; leave the format out")
    scales = x.scales
    if scales is not None and scales.ndim:
        spread = np.broadcast_to(scales, x.shape)
        scales = spread.take(0, axis) if spread.shape[axis] else spread.sum(axis)
        if spread.size and (spread != np.expand_dims(scales, axis)).any():
            raise ValueError(
                "scales that differ along the summed axis given; an accumulator takes one scale for each "
                "row of a and column of b, or scales of blocks: quantise with per='row', 'column', 'tensor' or a "
                "block's length"
            )
    return _Factor(x.codes, x.format, scales)


def _blocks(x: BlockArray, fmt: Any, axis: int) -> _Factor:
    block = x.format
    if fmt is not None:
        raise ValueError(f"a format given with an array of {block.name}; leave it out: the array states its format")
    if block.levels:
        raise ValueError(
            f"an array of {block.name} given as factor; no accumulator supports its levels of scales: use np.asarray(x)"
        )
    if (x.axis if not x.square else x.ndim + axis) != x.ndim + axis:
        raise ValueError(
            f"blocks along axis {x.axis} of a factor of shape {x.shape} given; they must lie along the summed axis: "
            f"quantise with axis={axis}"
        )
    scales = x.scales
    if x.square:
        other = -1 if axis == -2 else -2
        scales = np.repeat(scales, block.length, axis=other).take(range(x.shape[other]), axis=other)
    return _Factor(x.codes, block.element, scales, block.scale.name, block.length, x.tensor_scale or 1.0)


def _scale_options(a: _Factor, b: _Factor, options: dict[str, Any]) -> dict[str, Any]:
    given = [name for name in ("scale_a", "scale_b", "block", "scale_format") if options.get(name) is not None]
    if given:
        raise ValueError(f"{given[0]} given with an array that has scales; leave it out, or give the array's codes")
    kinds = {(one.scale_format, one.block) for one in (a, b) if one.scales is not None}
    if len(kinds) > 1:
        described = " and ".join(f"{fmt or 'exponents of two'} for {n or 'rows'}" for fmt, n in sorted(kinds, key=str))
        raise ValueError(f"scales of different kinds given: {described}; quantise both factors alike")
    ((scale_format, block),) = kinds
    scales = {"scale_a": a.scales, "scale_b": b.scales, "scale_format": scale_format, "block": block}
    return {name: value for name, value in scales.items() if value is not None}
