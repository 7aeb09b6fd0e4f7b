"""Timing of one operation by several packages, and its table."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from fp9.system.missing import install_hint

REPEATS = 7


@dataclass(frozen=True)
class Contender:
    """A package's way to do an operation: called without arguments, writes into arrays made before."""

    package: str
    run: Callable[[], object]


@dataclass(frozen=True)
class Result:
    """Elements per second, in millions, of one contender in one operation."""

    operation: str
    package: str
    rate: float


def peer(name: str) -> ModuleType | None:
    """A package to compare with; one that is not installed is named and skipped."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        print(f"{name} is not installed and is skipped; to compare with it: {install_hint('bench')}")
        return None


def measure(operation: str, elements: int, contenders: list[Contender]) -> list[Result]:
    """Best of `REPEATS` runs of each contender, after one to warm up; contenders take turns."""
    best = dict.fromkeys((contender.package for contender in contenders), float("inf"))
    for contender in contenders:
        contender.run()
    for _ in range(REPEATS):
        for contender in contenders:
            start = time.perf_counter()
            contender.run()
            best[contender.package] = min(best[contender.package], time.perf_counter() - start)
    return [Result(operation, package, elements / seconds / 1e6) for package, seconds in best.items()]


def report(results: list[Result]) -> str:
    """One line for each operation: our rate, and each peer's with the ratio to it."""
    lines = []
    for operation in dict.fromkeys(result.operation for result in results):
        rates = {result.package: result.rate for result in results if result.operation == operation}
        ours = rates.pop("fp9")
        peers = "  ".join(
            f"{package} {rate:.{0 if rate >= 1 else 3}f} ({ours / rate:.1f}x)" for package, rate in rates.items()
        )
        lines.append(f"{operation:42} {ours:8.0f} M/s   {peers}")
    return "\n".join(lines)


def _digits(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 1 else f"{rate:.3f}"
