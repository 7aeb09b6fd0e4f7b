"""Measure the first call in a new process: with an empty cache of kernels, and with a cache that has the kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.measure import Result

CALLS = {
    "cast to e4m3": "fp9.encode(x, 'e4m3')",
    "cast to e4m3 with flags": "fp9.encode(x, 'e4m3', flags=True)",
    "cast to hif8": "fp9.encode(x, 'hif8')",
    "e4m3 to float32": "fp9.decode(codes, 'e4m3')",
    "product, fma_fp32": "fp9.matmul(codes, codes, 'e4m3', 'e4m3', 'fma_fp32')",
    "product, dlfloat": "fp9.matmul(codes, codes, 'e4m3', 'e4m3', 'dlfloat')",
    "product, hopper": "fp9.matmul(codes, codes, 'e4m3', 'e4m3', 'hopper')",
    "product, cdna3": "fp9.matmul(codes, codes, 'e4m3', 'e4m3', 'cdna3')",
}

_PROGRAM = """
import sys, time
import numpy as np
import fp9
x = np.random.default_rng(0).standard_normal((64, 64), dtype=np.float32)
codes = (x.view(np.uint32) >> 26).astype(np.uint8)
begun = time.process_time()
eval(sys.argv[1])
print(time.process_time() - begun)
"""


def run() -> list[Result]:
    """Print the processor time of first calls. The results are not rates, so the returned list is empty."""
    for name, call in CALLS.items():
        with tempfile.TemporaryDirectory() as folder:
            first, again = (_seconds(call, folder) for _ in range(2))
        print(f"first call, {name:30} {first:8.2f} s   with kernels in the cache {again:.2f} s")
    return []


def _seconds(call: str, folder: str) -> float:
    """Return the processor time of one call in a new process that keeps its kernels in a folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    program = [sys.executable, "-c", _PROGRAM, call]
    made = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    return float(made.stdout)
