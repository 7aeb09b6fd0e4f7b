"""Measure a product of 64 x 64 x 64, in which the work before the first multiply-add counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import fp9
from benchmarks.measure import Contender, Result, measure

SIZE, CALLS = 64, 100


def run() -> list[Result]:
    """Measure a small product in fma_fp32, beside NumPy's float32 product."""
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


def _often(call: Callable[[], object]) -> Callable[[], None]:
    """Return a function that repeats a call, because one call is too short to measure."""

    def calls() -> None:
        for _ in range(CALLS):
            call()

    return calls
