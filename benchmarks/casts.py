"""Speed of casts and decodes beside the packages people use, side by side in one run: `make bench`.

Each row is the best of five runs over 16 million normally distributed values, in million values a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import en_dtypes
import ml_dtypes
import numpy as np

import fp9

VALUES = 1 << 24
RUNS = 5
PEERS = {
    "e4m3": ("ml_dtypes", ml_dtypes.float8_e4m3fn),
    "e5m2": ("ml_dtypes", ml_dtypes.float8_e5m2),
    "hif8": ("en_dtypes", en_dtypes.hifloat8),
}
"""For each format the package and its NumPy type; that of hif8 rounds as `rna` does."""


def rate(work: Callable[[], object]) -> float:
    """Million values a second, the best of a few runs after one that does not count."""
    work()
    best = float("inf")
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return VALUES / best / 1e6


def main() -> None:
    """Print one row for each format and direction."""
    values = np.random.default_rng(0).normal(size=VALUES).astype(np.float32)
    print(f"{'format':8} {'direction':10} {'fp9':>8} {'peer':>8}  peer's package")
    for name, (package, dtype) in PEERS.items():
        codes = fp9.encode(values, name)
        cast = values.astype(dtype)
        encode = rate(lambda name=name: fp9.encode(values, name)), rate(lambda dtype=dtype: values.astype(dtype))
        decode = rate(lambda n=name, c=codes: fp9.decode(c, n)), rate(lambda c=cast: c.astype(np.float32))
        for direction, (ours, theirs) in (("encode", encode), ("decode", decode)):
            print(f"{name:8} {direction:10} {ours:8.1f} {theirs:8.1f}  {package}")


if __name__ == "__main__":
    main()
