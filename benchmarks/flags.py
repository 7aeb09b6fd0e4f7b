"""Matrix products with their flags beside those without, on one thread."""

from __future__ import annotations

import numpy as np

import fp9
from benchmarks.matmul import ENGINES
from benchmarks.measure import Contender, Result, measure

SIZE = 128


def run() -> list[Result]:
    """Every engine's products of e4m3, of operands that are ready."""
    rng = np.random.default_rng(0)
    a, b = (fp9.operand(fp9.encode(rng.normal(size=(SIZE, SIZE)), "e4m3"), "e4m3") for _ in range(2))
    results: list[Result] = []
    for name in ENGINES:
        contenders = [_product(a, b, name, True, "fp9"), _product(a, b, name, False, "without")]
        results += measure(f"{name}, e4m3 x e4m3, {SIZE}^3, flags", SIZE**3, contenders)
    return results


def _product(a: fp9.Operand, b: fp9.Operand, engine: str, flags: bool, package: str) -> Contender:
    return Contender(package, lambda: fp9.matmul(a, b, engine=engine, flags=flags, threads=1))  # type: ignore[call-overload]
