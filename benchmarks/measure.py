"""Measure one operation of several packages, and print a table."""

from __future__ import annotations

import importlib
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy

from fp9.system.missing import install_hint

REPEATS = 7


@dataclass(frozen=True)
class Contender:
    """A package's function for an operation, which writes into existing arrays."""

    package: str
    run: Callable[[], object]


@dataclass(frozen=True)
class Result:
    """Millions of elements per second of one package in one operation."""

    operation: str
    package: str
    rate: float


def baseline(name: str) -> ModuleType | None:
    """Import a package to compare with. Print a message and return None if the package is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        print(f"{name} is not installed and is skipped; to compare with it: {install_hint('bench')}")
        return None


def machine() -> str:
    """Return the processor, the width of its vector registers, and versions."""
    from fp9.kernels.tiles.vectors import REGISTER_BYTES

    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*:\s*(.*)", text)
    name = model[1] if model else platform.processor() or platform.machine()
    return (
        f"{name}, vectors of {8 * REGISTER_BYTES} bits, Python {platform.python_version()}, NumPy {numpy.__version__}"
    )


Clock = Callable[[], float]


def measure(
    operation: str, elements: int, contenders: list[Contender], clock: Clock = time.perf_counter
) -> list[Result]:
    """Return the highest rate of each contender in `REPEATS` runs, as in `shortest`."""
    times = shortest(contenders, REPEATS, clock)
    return [Result(operation, package, elements / seconds / 1e6) for package, seconds in times.items()]


def shortest(contenders: list[Contender], repeats: int, clock: Clock = time.perf_counter) -> dict[str, float]:
    """Return the shortest time of each contender in seconds, after one run to warm up.

    Contenders take turns. A process clock does not count other work on the machine.
    """
    best = dict.fromkeys((contender.package for contender in contenders), float("inf"))
    for contender in contenders:
        contender.run()
    for _ in range(repeats):
        for contender in contenders:
            start = clock()
            contender.run()
            best[contender.package] = min(best[contender.package], clock() - start)
    return best


def report(results: list[Result]) -> str:
    """Return one line for each operation: the rate of fp9, and each package's rate with the ratio."""
    lines = []
    for operation in dict.fromkeys(result.operation for result in results):
        rates = {result.package: result.rate for result in results if result.operation == operation}
        ours = rates.pop("fp9")
        baselines = "  ".join(
            f"{package} {_digits(rate)} ({ours / rate:.{1 if ours >= rate else 2}f}x)"
            for package, rate in rates.items()
        )
        lines.append(f"{operation:42} {ours:8.0f} M/s   {baselines}")
    return "\n".join(lines)


def _digits(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 1 else f"{rate:.3f}"
