"""Compute dot products and matrix products of codes with an accumulator's roundings.

docs/reference/numerics.md defines the sums.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np

from fp9.casts.arrays import as_codes, decode_to, output_array
from fp9.casts.random_bits import NO_RANDOM
from fp9.casts.sources import check_switches, check_work
from fp9.engines import Engine, Scaling, format_of_scales
from fp9.engines import engine as find_engine
from fp9.formats import Format, format
from fp9.formats.dtypes import carried
from fp9.sums import in_numpy
from fp9.sums.matrices import (
    LEFT_NUMBERS,
    RIGHT_NUMBERS,
    WORTH_A_THREAD_STEPWISE,
    Factor,
    Options,
    Products,
    is_one_product,
    outputs,
    row_sums,
    slow_to_load,
)
from fp9.sums.operands import Operand, as_operand, check_filled, interleaved
from fp9.sums.scales import Scales, broadcasts, scale_rows
from fp9.sums.sides import side, some_rows
from fp9.system import warming
from fp9.system.parallel import Progress, row_parts, run_parts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fp9.casts.random_bits import RandomBits, Rng


class SumOptions(TypedDict, total=False):
    """Types of the keyword arguments of `dot` and `matmul`."""

    scale_a: ArrayLike | None
    scale_b: ArrayLike | None
    block: int | None
    scale_format: Format | str | None
    random_bits: ArrayLike | None
    random_width: int
    rng: Rng | None
    threads: int | None
    progress: Progress | None
    format_c: Format | str | None
    out: NDArray[Any] | None


class EngineKernel:
    """Arguments of kernels that compute one accumulation step."""

    def __init__(self, engine: Engine) -> None:
        from fp9.sums.general import step_rounding  # slow to load

        self._format, self._addend = engine.result.format, engine.addend_format
        self.result = step_rounding(engine)
        self.rounding = self.result[:-1]

    def addends(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        return decode_to(codes, self._addend, np.float64)

    def outputs(self, *shape: int) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        return np.empty(shape, dtype=self._format.dtype), np.empty(shape, dtype=np.uint8)


@overload
def dot(
    a: ArrayLike | Operand,
    b: ArrayLike | Operand,
    format_a: Format | str | None = None,
    format_b: Format | str | None = None,
    engine: Engine | str = ...,
    c: ArrayLike | None = None,
    *,
    flags: Literal[False] = False,
    **options: Unpack[SumOptions],
) -> NDArray[Any]: ...


@overload
def dot(
    a: ArrayLike | Operand,
    b: ArrayLike | Operand,
    format_a: Format | str | None = None,
    format_b: Format | str | None = None,
    engine: Engine | str = ...,
    c: ArrayLike | None = None,
    *,
    flags: Literal[True],
    **options: Unpack[SumOptions],
) -> tuple[NDArray[Any], NDArray[np.uint8]]: ...


def dot(
    a: ArrayLike | Operand,
    b: ArrayLike | Operand,
    format_a: Format | str | None = None,
    format_b: Format | str | None = None,
    engine: Engine | str = "fma_fp32",
    c: ArrayLike | None = None,
    *,
    flags: bool = False,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    block: int | None = None,
    scale_format: Format | str | None = None,
    random_bits: ArrayLike | None = None,
    random_width: int = 16,
    rng: Rng | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    format_c: Format | str | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Return dot products over the last axis. The products are added in order, starting from `c`.

    `fp9.dot` describes the arguments and errors. Returns codes of the format `engine.output`, in the operands' shape
    without the last axis. With `flags`, also returns exception flags (uint8, bits of fp9.Flags), which are OR-ed over
    all steps.

    >>> import fp9
    >>> x = fp9.encode([1.0, 2.0, 3.0], "e4m3")
    >>> fp9.decode(dot(x, x, "e4m3", "e4m3", "hopper", flags=False), "fp32").item()
    14.0
    """
    check_switches(flags=flags)
    check_work(threads, progress)
    others = c, scale_a, scale_b, block, scale_format, random_bits, rng, progress, format_c, out
    if not warming.is_cold() and all(option is None for option in others):
        small = slow_to_load().small.small_dot(a, b, format_a, format_b, engine, flags)
        if small is not None:
            return small
    chosen, x, y = find_engine(engine), as_operand("a", a, format_a), as_operand("b", b, format_b)
    fmt = format_of_scales(chosen, scale_format, block)
    if x.ndim == 0 or y.ndim == 0 or x.shape[-1] != y.shape[-1]:
        raise ValueError(f"shapes {x.shape} and {y.shape} given; the last axes must be equal")
    check_filled(x.format, y.format, x.shape[-1], chosen)
    x, y = interleaved(x, chosen), interleaved(y, chosen)
    depth, shape = x.shape[-1], (x.shape if x.shape == y.shape else np.broadcast_shapes(x.shape, y.shape))[:-1]
    scales = (
        scale_rows("scale_a", scale_a, fmt, x.shape[:-1], depth, block),
        scale_rows("scale_b", scale_b, fmt, y.shape[:-1], depth, block),
    )
    scaled = scale_a is not None or scale_b is not None
    random = _random(chosen, (random_bits, random_width, rng), shape, depth, scaled)
    options = Options(flags, _joins(chosen, scaled), random, threads, progress)
    start = _start(c, format_c, chosen, shape)
    codes, raised = _dot(chosen, (x, y), scales, block, start, options)
    codes = _given(codes, out)
    return (codes, raised) if flags else codes


@overload
def matmul(
    a: ArrayLike | Operand,
    b: ArrayLike | Operand,
    format_a: Format | str | None = None,
    format_b: Format | str | None = None,
    engine: Engine | str = ...,
    c: ArrayLike | None = None,
    *,
    flags: Literal[False] = False,
    **options: Unpack[SumOptions],
) -> NDArray[Any]: ...


@overload
def matmul(
    a: ArrayLike | Operand,
    b: ArrayLike | Operand,
    format_a: Format | str | None = None,
    format_b: Format | str | None = None,
    engine: Engine | str = ...,
    c: ArrayLike | None = None,
    *,
    flags: Literal[True],
    **options: Unpack[SumOptions],
) -> tuple[NDArray[Any], NDArray[np.uint8]]: ...


def matmul(
    a: ArrayLike | Operand,
    b: ArrayLike | Operand,
    format_a: Format | str | None = None,
    format_b: Format | str | None = None,
    engine: Engine | str = "fma_fp32",
    c: ArrayLike | None = None,
    *,
    flags: bool = False,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    block: int | None = None,
    scale_format: Format | str | None = None,
    random_bits: ArrayLike | None = None,
    random_width: int = 16,
    rng: Rng | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    format_c: Format | str | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Return the product a (..., M, K) x b (..., K, N) + c (..., M, N), as codes of the accumulator's output format.

    `fp9.matmul` describes the arguments and errors.

    >>> import fp9
    >>> one = fp9.encode([[1.0, 2.0]], "e4m3")
    >>> fp9.decode(matmul(one, one.T, "e4m3", "e4m3"), "fp32").tolist()
    [[5.0]]
    """
    check_switches(flags=flags)
    check_work(threads, progress)
    others = c, scale_a, scale_b, block, scale_format, random_bits, rng, progress, format_c, out
    if not warming.is_cold() and all(option is None for option in others):
        small = slow_to_load().small.small_product(a, b, format_a, format_b, engine, flags)
        if small is not None:
            return small
    chosen, x, y = find_engine(engine), as_operand("a", a, format_a), as_operand("b", b, format_b)
    fmt = format_of_scales(chosen, scale_format, block)
    lead = _batch(x, y)
    check_filled(x.format, y.format, x.shape[-1], chosen)
    x, y = interleaved(x, chosen), interleaved(y, chosen, axis=-2)
    (rows, depth), columns = x.shape[-2:], y.shape[-1]
    scales = (
        scale_rows("scale_a", scale_a, fmt, (rows,), depth, block, batch=lead),
        scale_rows("scale_b", scale_b, fmt, (columns,), depth, block, batch=lead, blocks_first=True),
    )
    scaled, shape = scale_a is not None or scale_b is not None, (*lead, rows, columns)
    random = _random(chosen, (random_bits, random_width, rng), shape, depth, scaled)
    options = Options(flags, _joins(chosen, scaled), random, threads, progress)
    batch, one = math.prod(lead), is_one_product(x, y, scale_b, block)
    items, count = (1, batch * rows) if one else (batch, rows)
    at_once = None if isinstance(a, Operand) else LEFT_NUMBERS, None if isinstance(b, Operand) else RIGHT_NUMBERS
    left = Factor(x, _by_item(scales[0], items, count), block, None if one else lead, at_once[0])
    right = Factor(y.mT, _by_item(scales[1], batch, columns), block, lead, at_once[1])
    start = _start(c, format_c, chosen, shape, lead).reshape(items, count, columns)
    products = Products(chosen, left, right, start, options)
    products.run()
    codes = _given(products.codes.reshape(shape), out)
    return (codes, products.flags.reshape(shape)) if flags else codes


# --- arguments ------------------------------------------------------------------------------------------------------


def _broadcast(array: NDArray[Any], shape: tuple[int, ...], rows: int) -> NDArray[Any]:
    depth = array.shape[-1]
    if array.size == depth:
        return array.reshape(1, depth)
    if array.shape[:-1] == shape:
        return array.reshape(rows, depth)
    return np.broadcast_to(array, (*shape, depth)).reshape(rows, depth)


def _batch(a: Operand, b: Operand) -> tuple[int, ...]:
    if a.ndim >= 2 and b.ndim >= 2 and a.shape[-1] == b.shape[-2]:
        if a.ndim == b.ndim == 2:
            return ()
        try:
            return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            pass
    raise ValueError(
        f"shapes {a.shape} and {b.shape} given; give (M, K) and (K, N), or leading axes before them that broadcast"
    )


def _by_item(scales: Scales | None, items: int, rows: int) -> Scales | None:
    return None if scales is None else scales.each(lambda array: array.reshape(items, rows, array.shape[-1]))


def _given(codes: NDArray[Any], out: NDArray[Any] | None) -> NDArray[Any]:
    if out is None:
        return codes
    output_array(out, codes.shape, codes.dtype)[...] = codes
    return out


def _check_addend(c: ArrayLike, named: Format | str | None, fmt: Format) -> None:
    # The width of plain codes can fit several formats, so they cause a warning.
    if named is not None and format(named) != fmt:
        raise ValueError(f"format_c {format(named).name} given, and the engine adds {fmt.name}; cast c to it first")
    if named is None and fmt.bits <= 16 and carried(c) is None:
        warnings.warn(
            f"c given as plain codes, which several formats of {fmt.bits} bits have; they are taken as {fmt.name}: "
            f"give format_c={fmt.name!r}, or an array that knows its format (fp9.Array)",
            stacklevel=4,
        )


_ZERO = np.zeros(())


def _start(
    c: ArrayLike | None, named: Format | str | None, engine: Engine, shape: tuple[int, ...], batch: tuple[int, ...] = ()
) -> NDArray[np.float64]:
    if c is None:
        if named is not None:
            format(named)
        return np.broadcast_to(_ZERO, shape)
    fmt = engine.addend_format
    _check_addend(c, named, fmt)
    codes = as_codes(c, fmt)
    lead = codes.shape[: max(codes.ndim - len(shape) + len(batch), 0)]
    if (*lead, *shape[len(batch) :]) != codes.shape or not broadcasts(lead, batch):
        raise ValueError(f"c of shape {codes.shape} given; give codes of {fmt.name} of shape {shape}")
    numbers = decode_to(codes, fmt, np.float64)
    return numbers if codes.shape == shape else np.array(np.broadcast_to(numbers, shape), order="C")


def _random(
    engine: Engine,
    given: tuple[ArrayLike | None, int, Rng | None],
    shape: tuple[int, ...],
    depth: int,
    scaled: bool,
) -> RandomBits:
    if not engine.result.rounding.needs_bits:
        bits, _, rng = given
        if bits is not None or rng is not None:
            name = "rng" if bits is None else "random_bits"
            raise ValueError(
                f"{name} given, and engine {engine.name} rounds by {engine.result.rounding.value}; give sr"
            )
        return NO_RANDOM
    roundings = engine.steps(depth) + _joins_once(engine, scaled)
    bits_of_all: RandomBits = slow_to_load().general.stochastic_bits(engine, given, (*shape, roundings))
    return bits_of_all


def _joins_once(engine: Engine, scaled: bool) -> bool:
    """Return whether the engine first adds all K products, then scales their sum, and then adds C."""
    return scaled and engine.step.scaling is Scaling.SUMS and engine.chunk.length is None and not engine.step.exact


def _joins(engine: Engine, scaled: bool) -> bool:
    return engine.chunk.length is not None or _joins_once(engine, scaled)


# --- sums -----------------------------------------------------------------------------------------------------------


def _dot(
    engine: Engine,
    operands: tuple[Operand, Operand],
    scales: tuple[Scales | None, Scales | None],
    block: int | None,
    start: NDArray[np.float64],
    options: Options,
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    shape, flat, depth = start.shape, np.ascontiguousarray(start).reshape(-1), operands[0].shape[-1]

    def rows_of(array: NDArray[Any]) -> NDArray[Any]:
        return _broadcast(array, shape, flat.size)

    a, b = (
        side(operand, rows_of, depth, engine, scale and scale.each(rows_of), block)
        for operand, scale in zip(operands, scales, strict=True)
    )
    if depth and warming.is_cold():
        found = in_numpy.sums(engine, a, b, flat, options.joins, in_numpy.PAIRS)
        if found is not None:
            if options.progress:
                options.progress(1.0)
            return found[0].reshape(shape), found[1].reshape(shape)
    codes, raised = outputs(engine, flat, depth, flags=True, random=options.random)
    at_sums = a.at_sums * b.at_sums
    sums = row_sums(engine, a, b, options.joins)

    def part(rows: slice) -> None:
        scales, random = some_rows(at_sums, rows), options.random.of(rows)
        sums.run(rows, rows, flat[rows], scales, random, codes[rows], raised[rows])

    if depth:
        parts = row_parts(flat.size, depth, options.threads, WORTH_A_THREAD_STEPWISE)
        run_parts(part, parts, options.threads, options.progress)
    return codes.reshape(shape), raised.reshape(shape)
