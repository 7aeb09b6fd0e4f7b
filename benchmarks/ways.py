"""Measure square products of prepared operands, computed in two ways, by every engine."""

from __future__ import annotations

from typing import Any

import numpy as np

import fp9
from benchmarks.matmul import ENGINES
from benchmarks.measure import Clock, Contender, Result, measure


def compare(
    size: int, formats: tuple[str, str], what: str, ways: dict[str, dict[str, Any]], clock: Clock
) -> list[Result]:
    """Return the multiply-adds per second of each way. A way is a name with options of `fp9.matmul`."""
    rng = np.random.default_rng(0)
    a, b = (fp9.operand(fp9.encode(rng.normal(size=(size, size)), fmt), fmt) for fmt in formats)
    results: list[Result] = []
    for engine in ENGINES:
        contenders = [Contender(way, _product(a, b, engine, options)) for way, options in ways.items()]
        results += measure(f"{engine}, {' x '.join(formats)}, {size}^3, {what}", size**3, contenders, clock)
    return results


def _product(a: fp9.Operand, b: fp9.Operand, engine: str, options: dict[str, Any]) -> Any:
    return lambda: fp9.matmul(a, b, engine=engine, **options)
