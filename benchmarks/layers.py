"""Measure PyTorch layers under a recipe, 256 wide: both passes relative to the three products alone."""

from __future__ import annotations

import numpy as np

import fp9
from benchmarks.measure import Contender, Result, baseline, measure
from fp9_ml.recipes import Product, recipe

WIDTH, ROWS = 256, (64, 1024)
RECIPES = ("hif8(last=none)", "hfp8(first=none,last=none)")


def run() -> list[Result]:
    torch = baseline("torch")
    if torch is None:
        return []
    import fp9_ml.torch as ft  # optional

    torch.set_num_threads(1)
    results = []
    for name in RECIPES:
        spec = recipe(name)
        for rows in ROWS:
            layer = ft.Linear(WIDTH, WIDTH, bias=False, recipe=name)
            x, g = torch.randn(rows, WIDTH, requires_grad=True), torch.randn(rows, WIDTH)
            _, saved = spec.linear(x.detach().numpy(), layer.weight.detach().numpy())
            e = spec.linear_backward(np.asarray(g), saved).gradient
            pairs = {
                Product.FORWARD: (saved.x, saved.w.transposed),
                Product.DGRAD: (e, saved.w),
                Product.WGRAD: (e.transposed, saved.x),
            }

            def layered(layer: object = layer, x: object = x, g: object = g) -> None:
                layer(x).backward(g)  # type: ignore[operator]

            def products(pairs: dict = pairs, spec: object = spec) -> None:  # type: ignore[type-arg]
                for product, (a, b) in pairs.items():
                    fp9.matmul(a.codes, b.codes, a.format, b.format, engine=spec.engine_of(product))  # type: ignore[attr-defined]

            results += measure(
                f"{name}, {rows} x {WIDTH} x {WIDTH}, products a step",
                3 * rows * WIDTH * WIDTH,
                [Contender("fp9", layered), Contender("GEMMs alone", products)],
            )
    return results
