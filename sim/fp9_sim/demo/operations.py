"""The layer's own operations as stimuli for the hardware units: what a chip that ran this layer would compute."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.golden import evaluate
from fp9.units import Cast, Dot, Mac, MacOp, Unit
from fp9_sim.demo.layer import Product, scale_exponent
from fp9_sim.demo.network import LayerTensors

Columns = dict[str, NDArray[Any]]

DOTS = 16
"""Dot products taken from each product of the layer."""
CASTS = 256
"""Values taken from each tensor for a cast unit, for every target and rounding."""


def of_layer(unit: Unit, layer: LayerTensors, products: Iterable[Product], seed: int = 0) -> Columns:
    """Input columns of a `cast`, `fma` or `mac`: the operations of the layer that the unit can do, in order.

    Raises ValueError for another kind of unit, and where the unit can do none of them.
    """
    generator = np.random.default_rng(seed)
    if isinstance(unit, Cast):
        return casts(unit, layer, generator)
    if not isinstance(unit, Dot):
        raise ValueError(f"{unit.name} is a {unit.kind}; give a cast, an fma or a mac to run a layer on")
    fitting = [p for p in products if p.engine == unit.engine and p.scheme.a in unit.a and p.scheme.b in unit.b]
    if not fitting:
        raise ValueError(f"{unit.name} can compute none of the layer's products; give it their formats and engine")
    parts = [_dots(unit, product, generator) for product in fitting]
    return {port.name: np.concatenate([part[port.name] for part in parts]) for port in unit.inputs}


def _dots(unit: Dot, product: Product, generator: np.random.Generator) -> Columns:
    """Dot products of random rows and columns of one product, step by step."""
    rows = generator.integers(product.a.codes.shape[0], size=DOTS)
    columns = generator.integers(product.b.codes.shape[1], size=DOTS)
    a, b = product.a.codes[rows], product.b.codes[:, columns].T
    ports = {port.name: port for port in unit.inputs}
    select = {"a_format": unit.a.index(product.scheme.a), "b_format": unit.b.index(product.scheme.b)}
    selects = {name: np.full(a.shape, value, np.uint8) for name, value in select.items() if name in ports}
    steps = {"a": a, "b": b, **selects}
    chain = _mac_chain(steps, unit) if isinstance(unit, Mac) else _fma_chain(steps, unit)
    return {name: np.ascontiguousarray(chain[name]).reshape(-1) for name in ports}


def _fma_chain(steps: Columns, unit: Dot) -> Columns:
    """The addend of each step is the running sum, from +0."""
    sums = np.zeros(steps["a"].shape, unit.engine.result.dtype)
    for k in range(sums.shape[1] - 1):
        step = {name: np.ascontiguousarray(column[:, k]) for name, column in steps.items()}
        sums[:, k + 1] = evaluate(unit, {**step, "c": np.ascontiguousarray(sums[:, k])})["result"]
    return {**steps, "c": sums}


def _mac_chain(steps: Columns, unit: Mac) -> Columns:
    """Each dot product loads its first product, accumulates the others, and is read once more at the end."""
    widened = {name: np.pad(column, ((0, 0), (0, 1))) for name, column in steps.items()}
    op = np.full(widened["a"].shape, MacOp.ACCUMULATE, np.uint8)
    op[:, 0], op[:, -1] = MacOp.LOAD, MacOp.FOLD if unit.chunk_steps else MacOp.HOLD
    return {**widened, "op": op, "c": np.zeros(op.shape, unit.engine.output.dtype)}


def casts(unit: Cast, layer: LayerTensors, generator: np.random.Generator) -> Columns:
    """Values of the three tensors, scaled for each target, under every rounding and overflow policy offered."""
    parts = []
    for index, target in enumerate(unit.targets):
        values = [_sample(tensor, scale_exponent(tensor, target), generator) for tensor in _tensors(layer)]
        patterns = np.concatenate(values).view(np.uint32)
        for rounding in range(len(unit.roundings)):
            settings = {"target": index, "rounding": rounding, "overflow": rounding % len(unit.overflow)}
            parts.append({"x": patterns, **{k: np.full(len(patterns), v, np.uint8) for k, v in settings.items()}})
    return {port.name: np.concatenate([part[port.name] for part in parts]) for port in unit.inputs}


def _tensors(layer: LayerTensors) -> tuple[NDArray[np.float32], ...]:
    return layer.activations, layer.weights, layer.gradient


def _sample(tensor: NDArray[np.float32], exponent: int, generator: np.random.Generator) -> NDArray[np.float32]:
    picked = generator.choice(tensor.reshape(-1), size=min(CASTS, tensor.size), replace=False)
    scaled: NDArray[np.float32] = np.ldexp(picked, exponent)
    return scaled


__all__ = ["CASTS", "DOTS", "casts", "of_layer"]
