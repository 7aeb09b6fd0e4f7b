"""float32 to blocks beside a plain copy of the numbers, on one thread."""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Contender, Result, measure
from fp9.blocks import BLOCK_FORMATS, quantise

ELEMENTS = 1 << 23


def run() -> list[Result]:
    """Every block format by its own rule."""
    x = np.random.default_rng(0).standard_normal(ELEMENTS, dtype=np.float32)
    copied = np.empty_like(x)
    results: list[Result] = []
    for name in BLOCK_FORMATS:
        ours = Contender("fp9", lambda name=name: quantise(x, name, threads=1))  # type: ignore[misc]
        copy = Contender("copy", lambda: np.copyto(copied, x))
        results += measure(f"float32 -> {name}", ELEMENTS, [ours, copy])
    return results
