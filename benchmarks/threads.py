"""Matrix products on two threads beside one: where the second core is idle, the ratio is what it gives."""

from __future__ import annotations

import numpy as np

import fp9
from benchmarks.matmul import ENGINES
from benchmarks.measure import Contender, Result, measure

SIZE = 1024


def run() -> list[Result]:
    """Every engine's products of e4m3, of operands that are ready."""
    rng = np.random.default_rng(0)
    a, b = (fp9.operand(fp9.encode(rng.normal(size=(SIZE, SIZE)), "e4m3"), "e4m3") for _ in range(2))
    results: list[Result] = []
    for name in ENGINES:
        contenders = [_on(a, b, name, 2, "fp9"), _on(a, b, name, 1, "one thread")]
        results += measure(f"{name}, e4m3 x e4m3, {SIZE}^3, two threads", SIZE**3, contenders)
    return results


def _on(a: fp9.Operand, b: fp9.Operand, engine: str, threads: int, package: str) -> Contender:
    return Contender(package, lambda: fp9.matmul(a, b, engine=engine, threads=threads))
