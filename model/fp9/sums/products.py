"""Dot products and matrix products of codes, rounded after every step as the engine says (spec section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import as_codes, decode_to, encode
from fp9.casts.tables import decode_table
from fp9.engines import Engine, Scaling
from fp9.engines import engine as find_engine
from fp9.formats import Format, format
from fp9.rounding import Overflow, Rounding
from fp9.sums.operands import Operand, check_block, operand, operand_codes, scale_rows, some_rows
from fp9.system.parallel import Progress, row_parts, run_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from fp9.casts.random_bits import RandomBits


class EngineKernel:
    """An engine made ready for the kernels of single steps: its result's rounding table, mode and decode table."""

    def __init__(self, engine: Engine) -> None:
        from fp9.sums.general import rounding_of

        self.result, self._addend = engine.result, engine.addend_format
        self.rounding = rounding_of(engine.result, engine.rounding)
        self.table = decode_table(engine.result)

    def addends(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Codes of addends as float64."""
        return decode_to(codes, self._addend, np.float64)

    def outputs(self, *shape: int) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """Empty arrays for codes and flags."""
        return np.empty(shape, dtype=self.result.dtype), np.empty(shape, dtype=np.uint8)


@dataclass(frozen=True)
class _Options:
    """What `dot` and `matmul` take beside operands and engine."""

    flags: bool
    scaled: bool
    random: RandomBits
    threads: int | None
    progress: Progress | None


def dot(
    a: ArrayLike,
    b: ArrayLike,
    format_a: Format | str,
    format_b: Format | str,
    engine: Engine | str = "fma_fp32",
    c: ArrayLike | None = None,
    *,
    flags: bool = False,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    block: int | None = None,
    random_bits: ArrayLike | None = None,
    random_width: int = 16,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Sums of products over the last axis, in order, from `c` (codes of the engine's output; +0 without it).

    `a`, `b`: codes, shapes that broadcast against each other with equal last axes; `c`: shape without the last axis.
    `scale_a`, `scale_b`: exponents of two that multiply an operand, -127..127: one, or one for each vector, or with
    `block` one for each `block` products of a vector (last axis). Where they enter is the engine's `scaling`.
    `random_bits`: integers of `random_width` bits for stochastic rounding, one for every rounding along the last axis
    (`Engine.steps`; one more where the whole sum is scaled), or one for all.

    Returns codes of `engine.output` in the shape without the last axis, and with `flags` also the flags (fp9.Flags
    bits, OR-ed over the steps, uint8).

    >>> import fp9
    >>> x = fp9.encode([1.0, 2.0, 3.0], "e4m3")
    >>> fp9.decode(dot(x, x, "e4m3", "e4m3", "hopper", flags=False), "fp32").item()
    14.0

    Raises ValueError for shapes, scales and engines that do not fit, TypeError for codes that are no integers.
    """
    chosen, formats = find_engine(engine), (format(format_a), format(format_b))
    check_block(chosen, block)
    codes_a, codes_b = (operand_codes(x, f) for x, f in zip((a, b), formats, strict=True))
    if codes_a.ndim == 0 or codes_b.ndim == 0 or codes_a.shape[-1] != codes_b.shape[-1]:
        raise ValueError(f"shapes {codes_a.shape} and {codes_b.shape} given; the last axes must be equal")
    depth = codes_a.shape[-1]
    scales = [
        scale_rows(name, scale, codes.shape[:-1], depth, block)
        for name, scale, codes in (("scale_a", scale_a, codes_a), ("scale_b", scale_b, codes_b))
    ]
    shape = np.broadcast_shapes(codes_a.shape, codes_b.shape)[:-1]
    rows = int(np.prod(shape))
    scaled = scale_a is not None or scale_b is not None
    random = _random(chosen, random_bits, random_width, shape, depth, scaled)
    options = _Options(flags, scaled, random, threads, progress)
    operands = [
        operand(_broadcast(codes, shape, rows), fmt, chosen, _broadcast_scale(scale, shape, rows), block)
        for codes, fmt, scale in zip((codes_a, codes_b), formats, scales, strict=True)
    ]
    return _dot(chosen, operands[0], operands[1], _addend(c, chosen, shape), shape, depth, options)


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    format_a: Format | str,
    format_b: Format | str,
    engine: Engine | str = "fma_fp32",
    c: ArrayLike | None = None,
    *,
    flags: bool = False,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    block: int | None = None,
    random_bits: ArrayLike | None = None,
    random_width: int = 16,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Codes of a (M, K) x b (K, N) + c (M, N) in the engine's output format, each sum in the order of K; as `dot`.

    `scale_a`: one exponent, or (M,), or with `block` (M, blocks); `scale_b`: one, or (N,), or (blocks, N).
    `threads`: None takes every core. `progress` is called with the fraction done.

    >>> import fp9
    >>> one = fp9.encode([[1.0, 2.0]], "e4m3")
    >>> fp9.decode(matmul(one, one.T, "e4m3", "e4m3"), "fp32").tolist()
    [[5.0]]
    """
    chosen, formats = find_engine(engine), (format(format_a), format(format_b))
    check_block(chosen, block)
    codes_a, codes_b = (operand_codes(x, f) for x, f in zip((a, b), formats, strict=True))
    if codes_a.ndim != 2 or codes_b.ndim != 2 or codes_a.shape[1] != codes_b.shape[0]:
        raise ValueError(f"shapes {codes_a.shape} and {codes_b.shape} given; give (M, K) and (K, N)")
    (rows, depth), columns = codes_a.shape, codes_b.shape[1]
    transposed = None if scale_b is None else np.asarray(scale_b).T
    scales = (
        scale_rows("scale_a", scale_a, (rows,), depth, block),
        scale_rows("scale_b", transposed, (columns,), depth, block),
    )
    scaled = scale_a is not None or scale_b is not None
    random = _random(chosen, random_bits, random_width, (rows, columns), depth, scaled)
    options = _Options(flags, scaled, random, threads, progress)
    operands = [
        operand(codes, fmt, chosen, scale, block)
        for codes, fmt, scale in zip((codes_a, codes_b.T), formats, scales, strict=True)
    ]
    return _matmul(chosen, operands[0], operands[1], _addend(c, chosen, (rows, columns)), depth, options)


# --- arguments ------------------------------------------------------------------------------------------------------


def _broadcast(codes: NDArray[Any], shape: tuple[int, ...], rows: int) -> NDArray[Any]:
    """Codes as (rows, k), or (1, k) where one vector stands for all."""
    depth = codes.shape[-1]
    if codes.size == depth:
        return codes.reshape(1, depth)
    return np.broadcast_to(codes, (*shape, depth)).reshape(rows, depth)


def _broadcast_scale(scale: NDArray[np.int64] | None, shape: tuple[int, ...], rows: int) -> NDArray[np.int64] | None:
    return None if scale is None else _broadcast(scale, shape, rows)


def _addend(c: ArrayLike | None, engine: Engine, shape: tuple[int, ...]) -> NDArray[Any]:
    fmt = engine.addend_format
    if c is None:
        return np.zeros(shape, dtype=fmt.dtype)
    codes = as_codes(c, fmt)
    if codes.shape != shape:
        raise ValueError(f"c of shape {codes.shape} given; give codes of {fmt.name} of shape {shape}")
    return codes


def _random(
    engine: Engine, bits: ArrayLike | None, width: int, shape: tuple[int, ...], depth: int, scaled: bool
) -> RandomBits:
    from fp9.sums.general import NO_RANDOM, stochastic_bits

    if not engine.rounding.needs_bits:
        if bits is not None:
            raise ValueError(f"random_bits given, and engine {engine.name} rounds by {engine.rounding.value}; give sr")
        return NO_RANDOM
    roundings = engine.steps(depth) + _joins_once(engine, scaled)
    return stochastic_bits(engine, bits, width, (*shape, roundings))


def _joins_once(engine: Engine, scaled: bool) -> bool:
    """Whether the whole sum is one chunk, because it is scaled before it joins C."""
    return scaled and engine.scaling is Scaling.SUMS and engine.chunk is None and not engine.whole


def _joins(engine: Engine, options: _Options) -> bool:
    return engine.chunk is not None or _joins_once(engine, options.scaled)


# --- sums -----------------------------------------------------------------------------------------------------------


def _dot(
    engine: Engine,
    a: Operand,
    b: Operand,
    c: NDArray[Any],
    shape: tuple[int, ...],
    depth: int,
    options: _Options,
) -> Any:
    from fp9.sums.general import GeneralSums

    if b.codes.shape[0] == 1:
        a, b = b, a
    start = decode_to(c.reshape(-1), engine.addend_format, np.float64)
    codes, raised = _outputs(engine, start, depth)
    scales = a.at_sums * b.at_sums
    general = GeneralSums(engine, a, b, depth, _joins(engine, options))

    def part(rows: slice) -> None:
        general.run(
            rows, rows, start[rows], some_rows(scales, rows), options.random.of(rows), codes[rows], raised[rows]
        )

    if depth:
        run_parts(part, row_parts(start.size, depth, options.threads), options.threads, options.progress)
    return (codes.reshape(shape), raised.reshape(shape)) if options.flags else codes.reshape(shape)


def _outputs(engine: Engine, start: NDArray[np.float64], depth: int) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Arrays for codes and flags; the sums of no products are C itself."""
    flags = np.zeros(start.shape, dtype=np.uint8)
    if depth:
        return np.empty(start.shape, dtype=engine.output.dtype), flags
    return encode(start, engine.output, Rounding.RTZ, Overflow.INF), flags


def _matmul(engine: Engine, a: Operand, b: Operand, c: NDArray[Any], depth: int, options: _Options) -> Any:
    from fp9.sums.fast import codes_of, fast_sums

    start = decode_to(c, engine.addend_format, np.float64)
    codes, raised = _outputs(engine, start, depth)
    joins = _joins(engine, options)
    fast = None if options.flags else fast_sums(engine, a, b, joins)
    if fast is None:
        part = _general_part(engine, a, b, start, joins, options, (codes, raised))
    else:

        def part(rows: slice) -> None:
            codes[rows] = codes_of(fast.run(rows, start[rows]), engine.output)

    if depth and codes.size:
        parts = row_parts(codes.shape[0], depth * codes.shape[1], options.threads)
        run_parts(part, parts, options.threads, options.progress)
    return (codes, raised) if options.flags else codes


_ALL = slice(None)


def _general_part(
    engine: Engine,
    a: Operand,
    b: Operand,
    start: NDArray[np.float64],
    joins: bool,
    options: _Options,
    outputs: tuple[NDArray[Any], NDArray[np.uint8]],
) -> Callable[[slice], None]:
    """Rows of a matrix product by the general kernel."""
    from fp9.sums.general import GeneralSums

    general = GeneralSums(engine, a, b, a.codes.shape[1], joins)
    codes, raised = outputs
    columns = codes.shape[1]

    def part(rows: slice) -> None:
        for i in range(rows.start, rows.stop):
            row, random = slice(i, i + 1), options.random.of(slice(i * columns, (i + 1) * columns))
            scales = some_rows(a.at_sums, row) * b.at_sums
            general.run(row, _ALL, start[i], scales, random, codes[i], raised[i])

    return part
