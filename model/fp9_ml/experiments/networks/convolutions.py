"""Small convolutional network in NumPy with depthwise layers and batch norm.

Images are (n, height, width, channels).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fp9_ml.experiments.networks.digits import images_and_labels
from fp9_ml.experiments.networks.layers import EPSILON, Numbers, Saved

CHANNELS = 8
BLOCKS = 4
SIDE = 8
CLASSES = 10

Parameters: TypeAlias = dict[str, Numbers]
Moments: TypeAlias = dict[str, tuple[Numbers, Numbers]]
Sums: TypeAlias = Callable[[str, Numbers, Numbers], Numbers]
"""Function that multiplies the operands (rows, in) of a named layer by its weights (in, out).

For a depthwise layer, the operands are (9, rows, c) and the weights are (9, c).
"""

LAYERS = ("first", *(f"{i}.{part}" for i in range(BLOCKS) for part in ("depthwise", "pointwise")), "output")
NORMED = LAYERS[:-1]


def plain(name: str, x: Numbers, weight: Numbers) -> Numbers:
    if x.ndim == 2:
        return x @ weight
    result: Numbers = (x * weight[:, None]).sum(0)
    return result


def total(rows: Numbers) -> Numbers:
    # A matrix product with ones, because NumPy's `sum` is slower.
    flat = np.ones(len(rows), dtype=np.float32) @ rows.reshape(len(rows), -1)
    return flat.reshape(rows.shape[1:])


def moments_of(rows: Numbers) -> tuple[Numbers, Numbers]:
    count = np.float32(len(rows))
    mean = total(rows) / count
    return mean, total(np.square(rows - mean)) / count


def initial(seed: int) -> Parameters:
    rng = np.random.default_rng(seed)
    shapes: dict[str, tuple[tuple[int, ...], int]] = {"first": ((9, CHANNELS), 9)}
    for i in range(BLOCKS):
        shapes |= {f"{i}.depthwise": ((9, CHANNELS), 9), f"{i}.pointwise": ((CHANNELS, CHANNELS), CHANNELS)}
    shapes["output"] = ((CHANNELS, CLASSES), CHANNELS)
    found = {
        f"{name}.weight": rng.normal(0, np.sqrt(2 / fan), shape).astype(np.float32)
        for name, (shape, fan) in shapes.items()
    }
    for name in NORMED:
        found[f"{name}.gain"], found[f"{name}.bias"] = np.ones(CHANNELS, np.float32), np.zeros(CHANNELS, np.float32)
    return found | {"output.bias": np.zeros(CLASSES, dtype=np.float32)}


def patches(x: Numbers) -> Numbers:
    """Pad images (n, h, w, c) with zeros, and return all 3 x 3 patches as an array of shape (9, n * h * w, c)."""
    n, height, width, channels = x.shape
    around = np.zeros((n, height + 2, width + 2, channels), dtype=x.dtype)
    around[:, 1:-1, 1:-1] = x
    found = np.empty((9, n, height, width, channels), dtype=x.dtype)
    for place in range(9):
        i, j = divmod(place, 3)
        found[place] = around[:, i : i + height, j : j + width]
    return found.reshape(9, -1, channels)


def patches_back(gradient: Numbers, shape: tuple[int, ...]) -> Numbers:
    n, height, width, channels = shape
    parts = gradient.reshape(9, *shape)
    around = np.zeros((n, height + 2, width + 2, channels), dtype=gradient.dtype)
    for place in range(9):
        i, j = divmod(place, 3)
        around[:, i : i + height, j : j + width] += parts[place]
    return around[:, 1:-1, 1:-1]


@dataclass
class Pass:
    """Logits (n, classes) of a forward pass, batch norm moments, and data for the backward pass."""

    parameters: Parameters
    logits: Numbers
    moments: Moments
    saved: dict[str, Saved]


def forward(parameters: Parameters, images: Numbers, moments: Moments | None = None, sums: Sums = plain) -> Pass:
    """Run the forward pass of the network on a batch of images.

    The batch norm layers use the means and variances in `moments`. If `moments` is None, each batch norm layer computes
    the mean and variance of its own input.
    """
    saved: dict[str, Saved] = {}
    found: Moments = {}

    def normed(name: str, rows: Numbers, shape: tuple[int, ...]) -> Numbers:
        found[name] = moments_of(rows) if moments is None else moments[name]
        mean, variance = found[name]
        inverse = 1 / np.sqrt(variance + EPSILON)
        unit = (rows - mean) * inverse
        y = unit * parameters[f"{name}.gain"] + parameters[f"{name}.bias"]
        saved[f"{name}.norm"] = (unit, inverse, y > 0)
        positive: Numbers = np.maximum(y, 0).reshape(shape)
        return positive

    def layer(name: str, operands: Numbers) -> Numbers:
        saved[name] = (operands,)
        return sums(name, operands, parameters[f"{name}.weight"])

    shape = (*images.shape[:3], CHANNELS)
    x = normed("first", layer("first", patches(images)[..., 0].T), shape)
    for i in range(BLOCKS):
        x = normed(f"{i}.depthwise", layer(f"{i}.depthwise", patches(x)), shape)
        x = normed(f"{i}.pointwise", layer(f"{i}.pointwise", x.reshape(-1, CHANNELS)), shape)
    logits = layer("output", x.mean((1, 2))) + parameters["output.bias"]
    return Pass(parameters, logits, found, saved)


def backward(run: Pass, gradient: Numbers) -> Parameters:
    # The argument `moments` of the forward pass must have been None.
    found: Parameters = {"output.bias": gradient.sum(0)}
    weights, saved = run.parameters, run.saved

    def normed(name: str, arrived: Numbers) -> Numbers:
        unit, inverse, positive = saved[f"{name}.norm"]
        rows, n = arrived.reshape(unit.shape) * positive, np.float32(len(unit))
        found[f"{name}.gain"], found[f"{name}.bias"] = total(rows * unit), total(rows)
        scaled = rows * weights[f"{name}.gain"]
        result: Numbers = (scaled - total(scaled) / n - unit * (total(scaled * unit) / n)) * inverse
        return result

    def layer(name: str, rows: Numbers) -> Numbers:
        (operands,) = saved[name]
        found[f"{name}.weight"] = operands.T @ rows
        return rows @ weights[f"{name}.weight"].T

    def depthwise(name: str, rows: Numbers) -> Numbers:
        (operands,) = saved[name]
        found[f"{name}.weight"] = np.stack([total(one * rows) for one in operands])
        shape = (len(gradient), SIDE, SIDE, CHANNELS)
        return patches_back(rows * weights[f"{name}.weight"][:, None], shape)

    pooled = layer("output", gradient) / np.float32(SIDE * SIDE)
    x = np.broadcast_to(pooled[:, None, None], (len(gradient), SIDE, SIDE, CHANNELS))
    for i in reversed(range(BLOCKS)):
        x = layer(f"{i}.pointwise", normed(f"{i}.pointwise", x))
        x = depthwise(f"{i}.depthwise", normed(f"{i}.depthwise", x))
    layer("first", normed("first", x))
    return found


Digits: TypeAlias = tuple[Numbers, NDArray[Any], Numbers, NDArray[Any]]


def digits(seed: int, tested: int = 449) -> Digits:
    """Return scikit-learn's digits as four arrays: training images, training labels, test images and test labels.

    Both arrays of images have the shape (n, 8, 8, 1).
    """
    images, labels = images_and_labels()
    order = np.random.default_rng([seed, 2]).permutation(len(images))
    pictures = (images[order] / 16).astype(np.float32).reshape(-1, SIDE, SIDE, 1)
    return pictures[tested:], labels[order][tested:], pictures[:tested], labels[order][:tested]
