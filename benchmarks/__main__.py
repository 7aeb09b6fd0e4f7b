"""Run the named groups of benchmarks, by default all: `python -m benchmarks [NAME ...]`."""

from __future__ import annotations

import importlib
import sys

from benchmarks.measure import machine, report

GROUPS = (
    "casts",
    "matmul",
    "flags",
    "waits",
    "threads",
    "small",
    "blocks",
    "layers",
    "training",
    "integers",
    "simulation",
    "cmodel",
    "first",
    "growth",
    "mix",
)
"""Modules of this package with a function `run` that returns results."""


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        sys.exit(f"unknown benchmark {unknown[0]!r}; known: {', '.join(GROUPS)}")
    print(machine())
    for name in names or GROUPS:
        print(report(importlib.import_module(f"benchmarks.{name}").run()))


if __name__ == "__main__":
    main(sys.argv[1:])
