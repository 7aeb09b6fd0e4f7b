"""Print one table of what people wait for: products, training steps, first calls, set-up, and tests, in half an hour.

The set-up and the tests run in a new clone of the last commit, with empty caches of packages, of Yosys, and of fp9.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import fp9
from benchmarks import first, training
from benchmarks.measure import Contender, Result, shortest
from fp9.system.parallel import cores

ROOT = Path(__file__).parents[1]

PRODUCTS = {
    16: ("fma_fp32", "dlfloat", "hopper", "cdna3"),
    128: ("fma_fp32",),
    256: ("fma_fp32", "dlfloat", "hopper"),
    512: ("fma_fp32", "dlfloat", "hopper", "blackwell", "cdna3"),
}
"""Engines for each number of rows, columns, and products of a sum."""

WIDE = ("dlfloat16", "dlfloat", 512)
"""Format of both operands, engine and size of a product of 16-bit numbers."""

FIRST = ("cast to e4m3", "cast to hif8", "product, hopper")

COMMANDS = {
    "`make`, with the set-up": "make",
    "`make`, again": "make",
    "`make test`": "make test",
    "`make test-slow`": "make test-slow",
    "collection of all tests": ".venv/bin/pytest --collect-only -q -m ''",
    "`fp9 --help`": ".venv/bin/fp9 --help",
}
"""Commands in a new clone, in this order."""

_SECONDS = 0.2
"""Time in which a product is measured repeatedly."""


def run() -> list[Result]:
    """Print the table. The results are not rates, so the returned list is empty."""
    print(f"| what | one thread | default ({cores()}) | compared with |\n|---|--:|--:|---|")
    for row in itertools.chain(_products(), _steps(), _first_calls(), _commands()):
        print("|", " | ".join(row), "|", flush=True)
    return []


Row = tuple[str, str, str, str]


def _products() -> Iterator[Row]:
    cases = [("e4m3", engine, size) for size, engines in PRODUCTS.items() for engine in engines]
    for fmt, engine, size in (*cases, WIDE):
        numbers = np.random.default_rng(0).standard_normal((2, size, size), dtype=np.float32)
        a, b = fp9.encode(numbers, fmt)
        x, y = fp9.decode(np.stack([a, b]), fmt).astype(np.float32)
        contenders = [
            Contender("one", lambda a=a, b=b, f=fmt, e=engine: fp9.matmul(a, b, f, f, e, threads=1)),  # type: ignore[misc]
            Contender("default", lambda a=a, b=b, f=fmt, e=engine: fp9.matmul(a, b, f, f, e)),  # type: ignore[misc]
            Contender("float32", lambda x=x, y=y: x @ y),  # type: ignore[misc]
        ]
        longest = max(shortest(contenders, 3).values())
        times = shortest(contenders, max(7, int(_SECONDS / longest)))
        single = times["float32"]
        beside = f"NumPy in float32, one thread: {_short(single)}; {single / times['one']:.2f} of its rate"
        yield f"{size}^3, {fmt}, `{engine}`", _short(times["one"]), _short(times["default"]), beside


def _steps() -> Iterator[Row]:
    rows: dict[str, list[dict[str, float]]] = {}
    for recipe, _, contenders in training.steps():
        rows.setdefault(recipe, []).append(shortest(contenders, 200))
    for recipe, both in rows.items():
        one, default = (_short(times["fp9"]) for times in (both[0], both[-1]))
        ratios = ", ".join(f"{times['fp9'] / times['torch']:.1f}" for times in both)
        beside = f"PyTorch in FP32: {_short(both[0]['torch'])} and {_short(both[-1]['torch'])}; {ratios} times as long"
        yield f"training step, `{recipe}`", one, default, beside


def _first_calls() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        first.seconds("pass", folder)  # compiles the Python modules
    for name in FIRST:
        with tempfile.TemporaryDirectory() as folder:
            small, compiled, cached = map(_short, first.seconds(first.CALLS[name], folder))
        yield f"first call, {name}", small, "", f"with kernels: {compiled} with an empty cache, then {cached}"


def _commands() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "fp9"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        environment["XDG_CACHE_HOME"] = str(Path(folder) / "cache")
        own = str(Path(sys.executable).parent)
        environment["PATH"] = os.pathsep.join(x for x in os.environ["PATH"].split(os.pathsep) if x != own)
        for what, command in COMMANDS.items():
            started, spent = time.perf_counter(), _children()
            done = subprocess.run(command, shell=True, cwd=clone, env=environment, capture_output=True, text=True)
            seconds, last = time.perf_counter() - started, (done.stdout.strip().splitlines() or [""])[-1]
            said = last if "test" in what else ""
            failed = f"exit status {done.returncode}" if done.returncode else ""
            busy = f"{_short(_children() - spent)} of processor time"
            yield what, "", _short(seconds), "; ".join(filter(None, (busy, said, failed)))


_OWN = ("FP9_", "NUMBA_", "YOWASP_", "PYTHON", "VIRTUAL_ENV", "OPENBLAS_", "OMP_", "MKL_")
"""Prefixes of variables that a fresh machine does not have."""


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _short(seconds: float) -> str:
    """Return a time with three digits and its unit."""
    unit, scale = next(((u, s) for u, s in (("us", 1e-6), ("ms", 1e-3)) if seconds < 1000 * s), ("s", 1.0))
    return f"{seconds / scale:.{max(0, 2 - len(str(int(seconds / scale))) + 1)}f} {unit}"
