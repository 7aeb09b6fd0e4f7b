"""Dot products and matrix products of codes, rounded after every step as the engine says (spec section 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casting import as_codes, decode_to
from fp9.engine import Engine
from fp9.engine import engine as find_engine
from fp9.formats import Format, format
from fp9.policy import CastPolicy, Overflow
from fp9.tables import decode_table, rounding_rows, rounding_target

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class EngineKernel:
    """An engine made ready for the kernels: its result's rounding table, mode and decode table."""

    def __init__(self, engine: Engine) -> None:
        from fp9 import kernels

        self.result = engine.result
        policy = CastPolicy(overflow=Overflow.INF)
        self.rounding = (
            *rounding_rows(engine.result),
            rounding_target(engine.result, policy),
            kernels.MODES[engine.rounding],
        )
        self.table = decode_table(engine.result)

    def numbers(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Codes of the result format as float64."""
        return decode_to(codes, self.result, np.float64)

    def outputs(self, *shape: int) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """Empty arrays for codes and flags."""
        return np.empty(shape, dtype=self.result.dtype), np.empty(shape, dtype=np.uint8)


def dot(
    a: ArrayLike,
    b: ArrayLike,
    format_a: Format | str,
    format_b: Format | str,
    engine: Engine | str = "fma_fp32",
    c: ArrayLike | None = None,
    *,
    flags: bool = False,
) -> Any:
    """Sums of products over the last axis, in order, from `c` (codes of the result format; +0 without it).

    `a`, `b`: codes, shapes that broadcast against each other with equal last axes; `c`: shape without the last axis.
    Returns codes of the engine's result format in that shape, and with `flags` also the flags (fp9.Flags bits, OR-ed
    over the steps, uint8).

    Raises ValueError for shapes that do not fit, TypeError for codes that are no integers.
    """
    kernel = EngineKernel(find_engine(engine))
    numbers_a, numbers_b = _numbers(a, format_a), _numbers(b, format_b)
    if numbers_a.ndim == 0 or numbers_b.ndim == 0 or numbers_a.shape[-1] != numbers_b.shape[-1]:
        raise ValueError(f"shapes {numbers_a.shape} and {numbers_b.shape} given; the last axes must be equal")
    numbers_a, numbers_b = np.broadcast_arrays(numbers_a, numbers_b)
    shape = numbers_a.shape[:-1]
    start = _addend(c, kernel, shape)
    return _run(kernel, numbers_a, numbers_b, start, shape, flags)


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    format_a: Format | str,
    format_b: Format | str,
    engine: Engine | str = "fma_fp32",
    c: ArrayLike | None = None,
    *,
    flags: bool = False,
) -> Any:
    """Codes of a (M, K) x b (K, N) + c (M, N) in the engine's result format, each sum in the order of K; as `dot`.

    >>> import fp9
    >>> one = fp9.encode([[1.0, 2.0]], "e4m3")
    >>> fp9.decode(matmul(one, one.T, "e4m3", "e4m3"), "fp32").tolist()
    [[5.0]]
    """
    kernel = EngineKernel(find_engine(engine))
    numbers_a, numbers_b = _numbers(a, format_a), _numbers(b, format_b)
    if numbers_a.ndim != 2 or numbers_b.ndim != 2 or numbers_a.shape[1] != numbers_b.shape[0]:
        raise ValueError(f"shapes {numbers_a.shape} and {numbers_b.shape} given; give (M, K) and (K, N)")
    shape = (numbers_a.shape[0], numbers_b.shape[1])
    start = _addend(c, kernel, shape)
    codes, raised = kernel.outputs(*shape)
    columns = np.ascontiguousarray(numbers_b.T)
    for i, row in enumerate(numbers_a):
        _sum_rows(kernel, np.broadcast_to(row, columns.shape), columns, start[i], codes[i], raised[i])
    return (codes, raised) if flags else codes


def _numbers(codes: ArrayLike, fmt: Format | str) -> NDArray[np.float64]:
    operand = format(fmt)
    return decode_to(as_codes(codes, operand), operand, np.float64)


def _addend(c: ArrayLike | None, kernel: EngineKernel, shape: tuple[int, ...]) -> NDArray[Any]:
    if c is None:
        return np.zeros(shape, dtype=kernel.result.dtype)
    codes = as_codes(c, kernel.result)
    if codes.shape != shape:
        raise ValueError(f"c of shape {codes.shape} given; give codes of {kernel.result.name} of shape {shape}")
    return codes


def _sum_rows(
    kernel: EngineKernel,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    start: NDArray[Any],
    codes: NDArray[Any],
    flags: NDArray[np.uint8],
) -> None:
    from fp9 import dot_kernels

    dot_kernels.dot_rows(*kernel.rounding, kernel.table, a, b, start, codes, flags)


def _run(
    kernel: EngineKernel,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    start: NDArray[Any],
    shape: tuple[int, ...],
    flags: bool,
) -> Any:
    codes, raised = kernel.outputs(start.size)
    depth = a.shape[-1]
    _sum_rows(kernel, a.reshape(-1, depth), b.reshape(-1, depth), start.reshape(-1), codes, raised)
    return (codes.reshape(shape), raised.reshape(shape)) if flags else codes.reshape(shape)
