"""Measure the first call in a new process: with NumPy, with an empty cache of kernels, and with kernels in the cache.

A process computes small calls with NumPy until it loads the kernels (see `fp9.system.warming`).
"""

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

_KERNELS = "import fp9.kernels; "
"""Statement after which all calls use kernels."""

_PROGRAM = """
import sys, time
import numpy as np
import fp9
x = np.random.default_rng(0).standard_normal((64, 64), dtype=np.float32)
codes = (x.view(np.uint32) >> 26).astype(np.uint8)
begun = time.process_time()
exec(sys.argv[1])
print(time.process_time() - begun)
"""


def run() -> list[Result]:
    """Print the processor time of first calls. The results are not rates, so the returned list is empty."""
    with tempfile.TemporaryDirectory() as folder:
        _seconds(_KERNELS, folder)  # writes the bytecode of all modules, as an installation does
    for name, call in CALLS.items():
        with tempfile.TemporaryDirectory() as folder:
            small, compiled, loaded = seconds(call, folder)
        kernels = f"kernels: compiled {compiled:5.2f} s, from the cache {loaded:5.2f} s"
        print(f"first call, {name:30} NumPy {small:5.2f} s   {kernels}")
    return []


def seconds(call: str, folder: str) -> tuple[float, float, float]:
    """Return the processor time of a first call: with NumPy, with kernels not in the folder, and with kernels in it."""
    return _seconds(call, folder), _seconds(_KERNELS + call, folder), _seconds(_KERNELS + call, folder)


def _seconds(call: str, folder: str) -> float:
    """Return the processor time of one call in a new process that keeps its kernels in a folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    program = [sys.executable, "-c", _PROGRAM, call]
    made = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    return float(made.stdout)
