"""Measure one training step of a small network under each recipe, relative to the same step of PyTorch in FP32."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator

from benchmarks.measure import Contender, Result, baseline, measure
from fp9.system.parallel import cores

WIDTHS, BATCH = (64, 256, 256, 10), 256
RECIPES = ("te_delayed", "hif8", "hfp8")


def run() -> list[Result]:
    multiply_adds = 3 * BATCH * sum(n * m for n, m in itertools.pairwise(WIDTHS))
    return [
        result
        for recipe, threads, contenders in steps()
        for result in measure(f"step, {recipe}, torch threads: {threads}", multiply_adds, contenders)
    ]


def steps() -> Iterator[tuple[str, int, list[Contender]]]:
    """Yield each recipe and number of threads, with the steps of fp9 and of PyTorch. Nothing without PyTorch."""
    torch = baseline("torch")
    if torch is None:
        return
    import fp9_ml.torch as ft  # optional

    torch.manual_seed(0)
    layers = [module for n, m in itertools.pairwise(WIDTHS) for module in (torch.nn.Linear(n, m), torch.nn.ReLU())]
    network = torch.nn.Sequential(*layers[:-1])
    x, labels = torch.randn(BATCH, WIDTHS[0]), torch.randint(WIDTHS[-1], (BATCH,))

    def step(model: object) -> Callable[[], None]:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)  # type: ignore[attr-defined]

        def once() -> None:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), labels).backward()  # type: ignore[operator]
            optimizer.step()

        return once

    for threads in sorted({1, cores()}):
        torch.set_num_threads(threads)
        for recipe in RECIPES:
            ours = ft.convert(copy.deepcopy(network), recipe)
            yield recipe, threads, [Contender("fp9", step(ours)), Contender("torch", step(copy.deepcopy(network)))]
