"""Measure one training step of a small network under each recipe, relative to the same step of PyTorch in FP32."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable

from benchmarks.measure import Contender, Result, baseline, measure

WIDTHS, BATCH = (64, 256, 256, 10), 256
RECIPES = ("te_delayed", "hif8", "hfp8")


def run() -> list[Result]:
    torch = baseline("torch")
    if torch is None:
        return []
    import fp9_ml.torch as ft  # optional

    torch.manual_seed(0)
    pairs = list(itertools.pairwise(WIDTHS))
    multiply_adds = 3 * BATCH * sum(n * m for n, m in pairs)
    layers = [module for n, m in pairs for module in (torch.nn.Linear(n, m), torch.nn.ReLU())]
    network = torch.nn.Sequential(*layers[:-1])
    x, labels = torch.randn(BATCH, WIDTHS[0]), torch.randint(WIDTHS[-1], (BATCH,))

    def step(model: object) -> Callable[[], None]:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)  # type: ignore[attr-defined]

        def once() -> None:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), labels).backward()  # type: ignore[operator]
            optimizer.step()

        return once

    results = []
    for threads in sorted({1, torch.get_num_threads()}):
        torch.set_num_threads(threads)
        for name in RECIPES:
            ours = ft.convert(copy.deepcopy(network), name)
            contenders = [Contender("fp9", step(ours)), Contender("torch", step(copy.deepcopy(network)))]
            results += measure(f"step, {name}, torch threads: {threads}", multiply_adds, contenders)
    return results
