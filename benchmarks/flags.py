"""Measure matrix products with and without flags, on one thread, in processor time."""

from __future__ import annotations

import time

from benchmarks.matmul import FORMATS
from benchmarks.measure import Result
from benchmarks.ways import compare

SIZE = 256


def run() -> list[Result]:
    ways = {"fp9": {"flags": True, "threads": 1}, "without": {"threads": 1}}
    return [result for formats in FORMATS for result in compare(SIZE, formats, "flags", ways, time.process_time)]
