"""Measure matrix products by exact operations of PyTorch, with and without torch.compile, next to fp9's kernels."""

from __future__ import annotations

import time

import numpy as np

import fp9
from benchmarks.measure import Contender, Result, baseline, measure

SIZE = 256
ENGINES = ("hopper", "ada", "blackwell", "hopper_fp16", "fma_fp32")


def run() -> list[Result]:
    torch = baseline("torch")
    if torch is None:
        return []
    from fp9_ml.torch.integers import Product  # optional

    torch.set_num_threads(1)
    rng, results = np.random.default_rng(0), []
    a, b = (np.asarray(fp9.encode(rng.normal(size=(SIZE, SIZE)), "e4m3")) for _ in range(2))
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    for name in ENGINES:
        product = Product("e4m3", "e4m3", name)
        contenders = [
            Contender("fp9", lambda name=name: fp9.matmul(a, b, "e4m3", "e4m3", name, threads=1)),
            Contender("PyTorch", lambda product=product: product(x, y)),
        ]
        if fp9.engine(name).step.products > 1:  # a graph has several operations a step
            compiled = torch.compile(product)
            contenders.append(Contender("PyTorch, compiled", lambda compiled=compiled: compiled(x, y)))
        results += measure(f"{name}, {SIZE} x {SIZE} x {SIZE}", SIZE**3, contenders, time.process_time)
    return results
