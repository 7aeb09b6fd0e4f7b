"""Convert the arithmetic of a neural network layer to operations of hardware units."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fp9
from fp9.blocks import quantise as in_blocks
from fp9.blocks import tensor_scale
from fp9.formats.blocks import BLOCK_FORMATS, BlockFormat
from fp9.units import Cast, Dot, Quantiser, Unit
from fp9.units.hooks import Hook
from fp9.units.views import cast_of
from fp9_ml.recipes import Operand, Recorded
from fp9_ml.recipes import Product as Step
from fp9_ml.recorded import chained, of_products
from fp9_sim.demo import network
from fp9_sim.demo.layer import DIRECTIONS, SCHEMES, Product, Scheme, factors, scale_exponent
from fp9_sim.demo.layer import product as multiplied
from fp9_sim.demo.network import LayerTensors, Matrix
from fp9_sim.energy.data import enough

Columns = dict[str, NDArray[Any]]

# Dot products that are taken from each matrix product of the layer.
DOTS = 16
# Values that are taken from each tensor for every target format and rounding mode of a cast unit.
CASTS = 256


def of_layer(unit: Unit, layer: LayerTensors, products: Iterable[Product], seed: int = 0) -> Columns:
    """Return operations from a network layer as inputs for a `cast`, `fma` or `mac` unit, in execution order."""
    generator = np.random.default_rng(seed)
    if (cast := cast_of(unit)) is not None:
        return casts(cast, layer, generator)
    return of_products(unit, [_recorded(product) for product in products], generator, DOTS)


def in_the_layer(count: int, seed: int = 0) -> Callable[[Unit], Columns]:
    # The first call of the returned function trains the network.

    @functools.cache
    def layer() -> LayerTensors:
        data = network.digits(seed)
        return network.tensors(network.train(data, seed), data)

    return lambda unit: of_unit(unit, layer(), count, seed)


def of_unit(unit: Unit, layer: LayerTensors, count: int, seed: int = 0) -> Columns:
    """Return at least `count` operations of a network layer, as an array of codes (n,) for each input port."""

    # The operations cover every pair of operand formats in `SCHEMES` that the unit supports. If a unit supports no
    # pair, its operands have the unit's first formats. A unit with scale inputs gets operands in block formats.
    take = _STIMULUS(unit, layer)
    return enough(lambda each: take(np.random.default_rng(seed), each), count)


def _schemes(unit: Dot) -> list[Scheme]:
    found = []
    for direction in DIRECTIONS:
        offered = [s for s in SCHEMES if s.direction == direction and s.a in unit.a and s.b in unit.b]
        found += offered or [Scheme(direction, unit.a[0], unit.b[0])]
    return found


def _recorded(product: Product) -> Recorded:
    a, b = (Operand(side.codes, side.format, math.ldexp(1, side.exponent)) for side in (product.a, product.b))
    place = {"forward": Step.FORWARD, "backward": Step.DGRAD}[product.scheme.direction]
    return Recorded("layer", place, a, b, product.engine, product.codes)


def casts(unit: Cast, layer: LayerTensors, generator: np.random.Generator, count: int = CASTS) -> Columns:
    """Return casts of values from the layer's tensors. Each input port has an array of codes (n,)."""
    # Different rounding modes use different overflow policies. The scale input is 0, because the values are already
    # scaled.
    parts = []
    for index, target in enumerate(unit.targets):
        # Each tensor is scaled to the range of the target format before its values become operands.
        values = [_sample(x, scale_exponent(x, target), generator, count * unit.lanes) for x in _tensors(layer)]
        lanes = fp9.encode(np.concatenate(values), unit.source).reshape(unit.lanes, -1, order="F")
        for rounding in range(len(unit.roundings)):
            said = {"target": index, "rounding": rounding, "overflow": rounding % len(unit.overflow)}
            part = {port.name: np.full(lanes.shape[1], said.get(port.name, 0)) for port in unit.inputs}
            if "random" in part:
                part["random"] = generator.integers(1 << unit.random_bits, size=lanes.shape[1])
            parts.append(part | dict(zip(unit.lane_names("x"), lanes, strict=True)))
    return {port.name: np.concatenate([part[port.name] for part in parts]) for port in unit.inputs}


def _tensors(layer: LayerTensors) -> tuple[NDArray[np.float32], ...]:
    return layer.activations, layer.weights, layer.gradient


def _sample(
    tensor: NDArray[np.float32], exponent: int, generator: np.random.Generator, count: int
) -> NDArray[np.float32]:
    # An element is repeated only if the tensor has fewer than `count` elements.
    picked = generator.choice(tensor.reshape(-1), size=count, replace=count > tensor.size)
    scaled: NDArray[np.float32] = np.ldexp(picked, exponent)
    return scaled


# --- blocks ---------------------------------------------------------------------------------------------------------


def _blocks(unit: Quantiser, layer: LayerTensors, generator: np.random.Generator, count: int) -> Columns:
    # The scale rule changes from block to block, and each factor has a separate tensor scale.
    parts, wholes = [], []
    for direction in DIRECTIONS:
        x, y = factors(direction, layer)
        for rows in (x, y.T):
            blocks = rows.reshape(-1, unit.block.length)
            parts.append(blocks[generator.integers(len(blocks), size=count)])
            wholes.append(np.full(count, tensor_scale(rows, unit.block) if unit.block.tensor else 1, np.float32))
    numbers = fp9.encode(np.concatenate(parts), unit.source)
    rules = np.repeat(np.arange(len(numbers)) % len(unit.rules), unit.group)
    lanes: dict[str, NDArray[Any]] = dict(zip(unit.lane_names("x"), numbers.reshape(-1, unit.width).T, strict=True))
    lanes["rule"], lanes["tensor"] = rules, np.repeat(np.concatenate(wholes).view(np.uint32), unit.group)
    return {port.name: lanes[port.name] for port in unit.inputs}


def _scaled_sums(unit: Dot, layer: LayerTensors, generator: np.random.Generator, sums: int) -> Columns:
    parts = []
    for direction in DIRECTIONS:
        x, y = factors(direction, layer)
        rows, columns = (generator.integers(size, size=sums) for size in (x.shape[0], y.shape[1]))
        steps = _steps(unit, "a", x, rows) | _steps(unit, "b", np.ascontiguousarray(y.T), columns)
        shape = next(iter(steps.values())).shape
        steps = {port.name: steps.get(port.name, np.zeros(shape, np.uint8)) for port in unit.inputs}
        chain = chained(steps, unit, shape)
        parts.append({name: np.ascontiguousarray(column).reshape(-1) for name, column in chain.items()})
    return {port.name: np.concatenate([part[port.name] for part in parts]) for port in unit.inputs}


def _steps(unit: Dot, side: str, x: Matrix, rows: NDArray[np.int64]) -> Columns:
    block, ports = _format_of_blocks(unit, side), unit.scale_names(side)
    scale = tensor_scale(x, block) if block.tensor else None
    made = in_blocks(x[rows], block, -1, tensor_scale=scale)
    elements = {name: made.elements[:, n :: unit.products] for n, name in enumerate(unit.lane_names(side))}
    scales = np.repeat(made.scales, block.length * len(ports) // unit.products, axis=1)
    return elements | {name: scales[:, n :: len(ports)] for n, name in enumerate(ports)}


def _format_of_blocks(unit: Dot, side: str) -> BlockFormat:
    element = (unit.a if side == "a" else unit.b)[0]
    for block in BLOCK_FORMATS.values():
        if (block.element, block.scale) == (element, unit.scale) and block.length % (unit.block or unit.products) == 0:
            return block
    raise ValueError(
        f"{unit.name}: no format of blocks has elements of {element.name}, scales of {unit.scale} and a length that "
        f"{unit.block or unit.products} products divide; give a unit of MX or NVFP4"
    )


__all__ = ["CASTS", "DOTS", "casts", "of_layer", "of_unit"]


def _sums(unit: Dot, layer: LayerTensors) -> Take:
    if unit.scale is not None:
        return functools.partial(_scaled_sums, unit, layer)
    products = [_recorded(multiplied(layer, scheme, unit.engine)) for scheme in _schemes(unit)]
    return functools.partial(of_products, unit, products)


# Arguments: a random generator, and the number of operations for each matrix product, cast or tensor.
Take = Callable[[np.random.Generator, int], Columns]

_STIMULUS: Hook[[LayerTensors], Take] = Hook(
    "stimulus from a layer",
    {
        Cast: lambda unit, layer: functools.partial(casts, unit, layer),
        Quantiser: lambda unit, layer: functools.partial(_blocks, unit, layer),
        Dot: _sums,
    },
    every_kind=False,
)
