"""Measure matrix products on two threads beside one thread."""

from __future__ import annotations

import time

from benchmarks.measure import Result
from benchmarks.ways import compare

SIZE = 1024


def run() -> list[Result]:
    ways = {"fp9": {"threads": 2}, "one thread": {"threads": 1}}
    return compare(SIZE, ("e4m3", "e4m3"), "two threads", ways, time.perf_counter)
