"""Matrix products of scaled FP8 or FP4 codes, with the arithmetic of a GPU library."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.arrays.array import Array
from fp9.casts.sources import check_integer, check_switches
from fp9.engines import Engine, engine
from fp9.formats import Format, format
from fp9.formats.dtypes import carried
from fp9.names import unknown
from fp9.profiles import epilogues
from fp9.profiles.backends import Backend, NumpyBackend
from fp9.profiles.catalogue import SCALINGS, SPLITS
from fp9.profiles.catalogue import profile as find_profile
from fp9.profiles.records import Call, Chunk, Profile, Scaling

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def scaled_mm(
    a: ArrayLike | Array,
    b: ArrayLike | Array,
    scale_a: ArrayLike | Array,
    scale_b: ArrayLike | Array,
    bias: ArrayLike | None = None,
    scale_result: ArrayLike | None = None,
    out_dtype: Format | str | None = None,
    use_fast_accum: bool = False,
    *,
    profile: str | Profile,
    **choices: Any,
) -> Array:
    """Return the scaled matrix product a (M, K) x b (K, N) as an `fp9.Array`, bit-identical to a GPU library's result.

    The arguments are the arguments of `torch._scaled_mm`. The shapes of the scales determine which numbers share a
    scale:

    - One scale per tensor: two single numbers.
    - One scale per row of `a` and per column of `b`: shapes (M, 1) and (1, N).
    - FP32 scales of blocks: `scale_a` has the shape (M, K/128), and `scale_b` the shape (K/128, N/128) or (K/128, N).
    - Scales of MX blocks, in the format e8m0: shapes (M, K/32) and (K/32, N).
    - Scales of NVFP4 blocks, in the format ue4m3 or e4m3: shapes (M, K/16) and (K/16, N).

    `scale_result` applies only to 8-bit results. By default, `out_dtype` is the format of the operand `a`. `profile`
    names the GPU and the library. The caller must pass the decisions that the GPU library makes at run time:

    - `split_k`: the number of parts into which the library splits K. 1 means no split.
    - `split`: how the library splits K: `contiguous`, `serial` or `pairwise`.
    - `scale_order`: `ab` if the sum is multiplied first by the scale of `a`, otherwise `ba`. If each row has a scale,
      the order of the two multiplications can change the rounded result. The library CUTLASS can exchange the operands
      `a` and `b`, and then multiplies a sum by the two scales in the opposite order.
    - `format_a`, `format_b`: the formats of operands that are plain codes.

    >>> import fp9
    >>> a = fp9.array([[1.0, 2.0]], "e4m3")
    >>> fp9.scaled_mm(a, a.T, 0.5, 0.25, out_dtype="bf16", use_fast_accum=True, profile="h100", split_k=1).tolist()
    [[0.625]]

    Raises ValueError if the library refuses the call, if the caller omits a run-time choice, or if the call's
    arithmetic is unknown.
    """
    check_switches(use_fast_accum=use_fast_accum)
    given = (a, b, scale_a, scale_b, bias, scale_result)
    return Array(*scaled_codes(NumpyBackend(), given, out_dtype, use_fast_accum, profile, choices))


def scaled_codes(
    on: Backend,
    given: tuple[Any, ...],
    out_dtype: Format | str | None,
    use_fast_accum: bool,
    profile: str | Profile,
    choices: dict[str, Any],
) -> tuple[Any, Format]:
    """Return the codes and the format of a scaled matrix product.

    `given` holds the first six arguments of `scaled_mm`.
    """
    (a, b, scale_a, scale_b, bias, scale_result), found, wanted = given, find_profile(profile), _chosen(choices)
    x, y = on.operand("a", a, wanted.format_a), on.operand("b", b, wanted.format_b)
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        raise ValueError(f"shapes {tuple(x.shape)} and {tuple(y.shape)} given; give (M, K) and (K, N)")
    scaling, scales = _scales(on, found, scale_a, scale_b, (x.shape[0], y.shape[1], x.shape[1]))
    call, output = _call(found, scaling), x.format if out_dtype is None else format(out_dtype)
    _check_formats(found, call, (x.format.name, y.format.name, output.name))
    apply = _order(found, call, wanted.scale_order)
    numbers = apply(_sums(on, found, call, x, y, scales, use_fast_accum, wanted), *scales)
    if bias is not None:
        if call.epilogue.bias is None:
            _missing(found, "how the bias is rounded", "add it to the result")
        else:
            numbers = call.epilogue.bias(numbers, _bias(on, bias, y.shape[1]))
    return _output(on, numbers, output, scale_result if call.epilogue.takes_result_scale else None), output


class _Choices:
    """Choices that a GPU library makes at run time, for one matrix product."""

    def __init__(
        self,
        split_k: int | None = None,
        split: str | None = None,
        scale_order: str | None = None,
        format_a: Format | str | None = None,
        format_b: Format | str | None = None,
    ) -> None:
        for name, value in (("split", split), ("scale_order", scale_order)):
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{name} of type {type(value).__name__} given; give a name, or None")
        self.split_k, self.split, self.scale_order = split_k, split, scale_order
        self.format_a, self.format_b = format_a, format_b


def _chosen(choices: dict[str, Any]) -> _Choices:
    known = inspect.signature(_Choices).parameters
    for name in choices:
        if name not in known:
            raise TypeError(unknown("choice", name, known, f"give one of {', '.join(known)}"))
    return _Choices(**choices)


def _bias(on: Backend, given: Any, columns: int) -> Any:
    numbers = on.numbers("bias", given)
    if tuple(numbers.shape) != (columns,):
        raise ValueError(f"bias of shape {tuple(numbers.shape)} given; give ({columns},), a number for each column")
    return numbers


def _missing(found: Profile, fact: str, instead: str) -> None:
    raise ValueError(f"profile {found.name} given, and nobody has measured {fact} on {found.device}; {instead}")


def _call(found: Profile, scaling: Scaling) -> Call:
    for call in found.calls:
        if call.scaling == scaling.name:
            return call
    known = ", ".join(call.scaling for call in found.calls)
    raise ValueError(
        f"profile {found.name} given with scales of kind {scaling.name}, and nobody has measured how {found.device} "
        f"applies them; give scales of kind {known}, or another profile"
    )


def _check_formats(found: Profile, call: Call, names: tuple[str, str, str]) -> None:
    for name in names[:2]:
        if format(name).bits > 8:
            raise ValueError(
                f"operand of {name} given; {found.library} scales operands of at most 8 bits: cast it first"
            )
    for refused in found.refused:
        if all(want in ("*", got) for want, got in zip(refused, names, strict=True)):
            raise ValueError(
                f"{names[0]} x {names[1]} to {names[2]} given; {found.library} refuses it: give other formats"
            )
    if names[2] not in call.epilogue.outputs:
        raise ValueError(f"out_dtype={names[2]} given; give one of {', '.join(call.epilogue.outputs)}")


def _order(found: Profile, call: Call, order: str | None) -> Any:
    orders = call.epilogue.scale
    if order is None and len(orders) == 1:
        return next(iter(orders.values()))
    if order not in orders:
        raise ValueError(
            f"scale_order={order} given; give {' or '.join(orders)}: profile {found.name} chooses by shape whose "
            "scale multiplies first"
        )
    return orders[order]


def _scales(
    on: Backend, found: Profile, scale_a: Any, scale_b: Any, sizes: tuple[int, int, int]
) -> tuple[Scaling, tuple[Any, Any]]:
    # If several kinds of scales match the shapes, a kind that the profile lists is preferred.
    known = {call.scaling for call in found.calls}
    formats = [carried(scale) for scale in (scale_a, scale_b)]
    narrow = [None if fmt is None or fmt.bits > 8 else fmt for fmt in formats]
    shapes = tuple(tuple(np.shape(scale)) for scale in (scale_a, scale_b))
    for scaling in sorted(SCALINGS.values(), key=lambda each: each.name not in known):
        fits = all(_has_format(fmt, scaling) for fmt in narrow)
        if fits and shapes in scaling.shapes(*sizes):
            if scaling.format is None:
                numbers = [on.numbers("scale_a", scale_a), on.numbers("scale_b", scale_b)]
                return scaling, (numbers[0], numbers[1]) if scaling.block else (_one(numbers[0]), _one(numbers[1]))
            codes = [
                on.scale_codes(s, fmt) for s, fmt in zip((scale_a, scale_b), narrow, strict=True) if fmt is not None
            ]
            return scaling, (codes[0], codes[1])
    m, n, k = sizes
    raise ValueError(
        f"scale_a and scale_b of shapes {shapes[0]} and {shapes[1]} given for ({m}, {k}) x ({k}, {n}); "
        f"give one each, ({m}, 1) and (1, {n}), or those of blocks along K: of 128 in FP32, of 32 in e8m0, of 16 in "
        "ue4m3"
    )


def _has_format(fmt: Format | None, scaling: Scaling) -> bool:
    return scaling.format is None if fmt is None else fmt.name in (scaling.format, str(scaling.format).lstrip("u"))


def _one(scale: Any) -> Any:
    return scale.reshape(()) if math.prod(scale.shape) == 1 else scale


# --- sums -----------------------------------------------------------------------------------------------------------


def sums(
    a: ArrayLike | Array,
    b: ArrayLike | Array,
    use_fast_accum: bool,
    *,
    profile: str | Profile,
    **choices: Any,
) -> NDArray[np.float32]:
    """Return the matrix product a x b in FP32, before the library multiplies by the scales of the two tensors."""
    on, found, wanted = NumpyBackend(), find_profile(profile), _chosen(choices)
    x, y = on.operand("a", a, wanted.format_a), on.operand("b", b, wanted.format_b)
    found_sums: NDArray[np.float32] = _sums(
        on, found, _call(found, SCALINGS["tensor"]), x, y, (None, None), use_fast_accum, wanted
    )
    return found_sums


def _sums(on: Backend, found: Profile, call: Call, x: Any, y: Any, scales: Any, fast: bool, wanted: _Choices) -> Any:
    accumulator, scaling = _accumulator(found, call, fast), SCALINGS[call.scaling]
    if call.chunks is not None:
        return _scaled_chunks(on, call.chunks, accumulator, x, y, scales, scaling.block or x.shape[1])
    options = {"scale_a": scales[0], "scale_b": scales[1], "block": scaling.block, "scale_format": scaling.format}
    options = options if scaling.format else {}
    parts = _split_k(found, call, wanted)
    if wanted.split not in (None, *SPLITS):
        raise ValueError(f"split={wanted.split} given; give one of {', '.join(SPLITS)}")
    if parts == 1:
        return on.multiply(x, y, accumulator, **options)
    split = SPLITS[_split(found, call, wanted)]
    partial = [
        on.multiply(x, y, accumulator, some) if some.size else on.zeros(x.shape[0], y.shape[1])
        for some in split.parts(x.shape[1], parts)
    ]
    return split.join(partial)


def _accumulator(found: Profile, call: Call, fast: bool) -> Engine:
    if fast and call.fast is None:
        raise ValueError(
            f"use_fast_accum=True given with scales of kind {call.scaling}; {found.library} refuses it: give False"
        )
    name = call.fast if fast else call.slow
    if name is None:
        _missing(found, "how use_fast_accum=False promotes sums", "give use_fast_accum=True")
    return engine(str(name))


def _split_k(found: Profile, call: Call, wanted: _Choices) -> int:
    if not call.may_split:
        if wanted.split_k not in (None, 1):
            raise ValueError(f"split_k={wanted.split_k} given; leave it out: {found.library} does not split this call")
        return 1
    if wanted.split_k is None:
        raise ValueError(
            f"split_k not given; {found.library} chooses it by shape, version and workspace: give 1 for a product "
            "that is not split, or the number of parts that its log or mmaemu.explain states"
        )
    check_integer("split_k", wanted.split_k, 1)
    if wanted.split_k > 1 and not call.splits:
        _missing(found, "how split sums are divided and added", "give split_k=1")
    return wanted.split_k


def _split(found: Profile, call: Call, wanted: _Choices) -> str:
    chosen = call.splits[0] if wanted.split is None and len(call.splits) == 1 else wanted.split
    if chosen not in call.splits:
        raise ValueError(f"split={chosen} given; profile {found.name} splits K as {' or '.join(call.splits)}: give one")
    return str(chosen)


def _scaled_chunks(
    on: Backend, ways: tuple[Chunk, Chunk], accumulator: Engine, x: Any, y: Any, scales: Any, block: int
) -> Any:
    (scale_a, scale_b), columns = scales, y.shape[1]
    add = ways[scale_b.shape[1] != columns]
    if scale_b.shape[1] != columns:
        scale_b = scale_b[:, np.arange(columns) // block]
    total, chunk = on.zeros(x.shape[0], columns), accumulator.within_chunk
    for index, first in enumerate(range(0, x.shape[1], block)):
        part = on.multiply(x, y, chunk, slice(first, first + block))
        total = add(part, scale_a[:, index, None], scale_b[index], total)
    return total


_NAN = {"fp32": 0x7FFFFFFF, "bf16": 0x7FFF, "fp16": 0x7FFF, "e4m3": 0x7F, "e5m2": 0x7F}
"""NaN codes that a GPU's conversions return, by result format."""


def _output(on: Backend, numbers: Any, fmt: Format, scale_result: Any) -> Any:
    factor = on.numbers("scale_result", 1 if scale_result is None else scale_result)
    if math.prod(factor.shape) != 1:
        raise ValueError(f"scale_result of shape {tuple(factor.shape)} given; give one number")
    if fmt.bits == 8:
        numbers = epilogues.product(numbers, factor.reshape(())).clip(-float(fmt.max), float(fmt.max))
    codes = on.encode(numbers, fmt)
    codes[numbers != numbers] = _NAN[fmt.name]
    return codes
