"""Measure calls with small arrays, in which the work before the first operation on numbers counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import fp9
from benchmarks.matmul import ENGINES
from benchmarks.measure import Contender, Result, measure

SIZE, CALLS = 64, 100
SMALL = 16
"""Rows, columns and products of a sum in a small product."""

_TOGETHER, _REPEATS = 10, 500


def run() -> list[Result]:
    """Print the times of calls with small arrays, and measure a product in fma_fp32 beside NumPy's float32 product."""
    for name, call in _calls():
        print(f"{name:34} {_microseconds(call):6.1f} us")
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(SIZE, SIZE)).astype(np.float32) for _ in range(2))
    a, b = (fp9.encode(values, "e4m3") for values in (x, y))
    ready = fp9.operand(a, "e4m3"), fp9.operand(b, "e4m3")
    contenders = [
        Contender("fp9", _often(lambda: fp9.matmul(*ready, engine="fma_fp32"))),
        Contender("of codes", _often(lambda: fp9.matmul(a, b, "e4m3", "e4m3", engine="fma_fp32"))),
        Contender("numpy float32", _often(lambda: x @ y)),
    ]
    return measure(f"fma_fp32, e4m3 x e4m3, {SIZE} x {SIZE} x {SIZE}", CALLS * SIZE**3, contenders)


def _calls() -> Iterator[tuple[str, Callable[[], object]]]:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(SMALL, SMALL)).astype(np.float32) for _ in range(2))
    a, b = (fp9.encode(values, "e4m3") for values in (x, y))
    ready = fp9.operand(a, "e4m3"), fp9.operand(b, "e4m3")
    for name in ENGINES:  # first, because a product loads the kernels that casts use
        yield f"product of operands, {name}", partial(fp9.matmul, *ready, engine=name)
        yield f"product of codes, {name}", partial(fp9.matmul, a, b, "e4m3", "e4m3", engine=name)
        yield f"dot product, {name}", partial(fp9.dot, a[0], b[0], "e4m3", "e4m3", engine=name)
    yield "encode, e4m3", partial(fp9.encode, x, "e4m3")
    yield "decode, e4m3", partial(fp9.decode, a, "e4m3")
    yield "quantise, nvfp4", partial(fp9.quantise, x, "nvfp4")


def _microseconds(call: Callable[[], object]) -> float:
    """Return the shortest time of a call. Short measurements avoid interruptions by other work on the machine."""
    call()
    best = float("inf")
    for _ in range(_REPEATS):
        start = time.perf_counter()
        for _ in range(_TOGETHER):
            call()
        best = min(best, time.perf_counter() - start)
    return best / _TOGETHER * 1e6


def _often(call: Callable[[], object]) -> Callable[[], None]:
    """Return a function that repeats a call, because one call is too short to measure."""

    def calls() -> None:
        for _ in range(CALLS):
            call()

    return calls
