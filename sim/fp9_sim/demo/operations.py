"""The layer's own operations as stimuli for the hardware units: what a chip that ran this layer would compute."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.recipes import Operand, Recorded
from fp9.recipes import Product as Step
from fp9.units import Cast, Dot, Unit
from fp9.vectors.recorded import of_products
from fp9_sim.demo.layer import DIRECTIONS, SCHEMES, Product, Scheme, scale_exponent
from fp9_sim.demo.layer import product as multiplied
from fp9_sim.demo.network import LayerTensors
from fp9_sim.energy.data import enough

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
    return of_products(unit, [_recorded(product) for product in products], generator, DOTS)


def of_unit(unit: Unit, layer: LayerTensors, count: int, seed: int = 0) -> Columns:
    """At least `count` operations of the layer in a unit's own formats and engine, for every scheme that it takes.

    A direction of which it takes no scheme is computed in the first formats that it offers.
    Raises ValueError for a unit that neither multiplies nor casts.
    """
    if not isinstance(unit, Dot):
        return enough(lambda _: of_layer(unit, layer, (), seed), count)
    schemes = [scheme for direction in DIRECTIONS for scheme in _schemes(unit, direction)]
    products = [_recorded(multiplied(layer, scheme, unit.engine)) for scheme in schemes]
    return enough(lambda sums: of_products(unit, products, np.random.default_rng(seed), sums), count)


def _schemes(unit: Dot, direction: str) -> list[Scheme]:
    """The schemes of a direction that a unit takes, or one in its own first formats."""
    offered = [s for s in SCHEMES if s.direction == direction and s.a in unit.a and s.b in unit.b]
    return offered or [Scheme(direction, unit.a[0], unit.b[0])]


def _recorded(product: Product) -> Recorded:
    """A product of the layer as one of a recording."""
    a, b = (Operand(side.codes, side.format, math.ldexp(1, side.exponent)) for side in (product.a, product.b))
    place = {"forward": Step.FORWARD, "backward": Step.DGRAD}[product.scheme.direction]
    return Recorded("layer", place, a, b, product.engine, product.codes)


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


__all__ = ["CASTS", "DOTS", "casts", "of_layer", "of_unit"]
