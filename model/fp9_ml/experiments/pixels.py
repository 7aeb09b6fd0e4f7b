"""Train a network on a photograph, with very long sums of gradients in 16 bits.

A long sum in a 16-bit format loses small terms (Wang et al., NeurIPS 2018, Fig. 3b).
"""

from __future__ import annotations

import functools

import numpy as np

from fp9_ml.experiments.claims import Progress
from fp9_ml.experiments.networks.digits import data_set
from fp9_ml.experiments.networks.layers import Adam, Numbers
from fp9_ml.experiments.store import Store
from fp9_ml.recipes import Recipe, recipe

ROWS, COLUMNS, WAVES = 128, 192, 8
ENGINES = ("chunked", "dlfloat")


@functools.cache
def pixels() -> tuple[Numbers, Numbers]:
    """Return network inputs (24576, 33) and colours (24576, 3) for pixels of scikit-learn's `china.jpg`."""
    from PIL import Image  # optional

    image = np.asarray(Image.open(data_set("images", "china.jpg")), dtype=np.float32) / np.float32(255)
    # Every third row and column in the upper left part of the image is selected.
    colours = image[: 3 * ROWS : 3, : 3 * COLUMNS : 3].reshape(-1, 3)
    y, x = np.meshgrid(np.linspace(-1, 1, ROWS), np.linspace(-1, 1, COLUMNS), indexing="ij")
    angles = np.stack([np.pi * n * axis.ravel() / 2 for axis in (x, y) for n in range(1, WAVES + 1)], axis=1)
    # The inputs of a pixel are sines and cosines of its coordinates, and the constant 1.
    places = np.concatenate([np.sin(angles), np.cos(angles), np.ones((angles.shape[0], 1))], axis=1)
    return places.astype(np.float32), colours


def initial(seed: int, hidden: int) -> dict[str, Numbers]:
    rng, width = np.random.default_rng(seed), 4 * WAVES + 1
    return {
        "first": rng.normal(0, 1 / np.sqrt(width), (hidden, width)).astype(np.float32),
        "second": rng.normal(0, 1 / np.sqrt(hidden), (3, hidden)).astype(np.float32),
    }


def gradients(spec: Recipe, weights: dict[str, Numbers]) -> tuple[float, dict[str, Numbers]]:
    places, colours = pixels()
    hidden, first = spec.linear(places, weights["first"])
    painted, second = spec.linear(np.maximum(hidden, 0), weights["second"])
    error = painted - colours
    back = spec.linear_backward(error, second)
    dw = spec.linear_backward(back.dx * (hidden > 0), first).dw
    return float(np.square(error, dtype=np.float64).mean()), {"first": dw, "second": back.dw}


def _recipe(engine: str) -> Recipe:
    return recipe(f"hfp8(wgrad={engine},first=none,last=none)")


def swamping(seed: int) -> dict[str, float]:
    """Return each accumulator model's relative error in a weight gradient that sums over 24,576 pixels."""
    weights = initial(seed, hidden=16)
    found = {e: gradients(_recipe(e), weights)[1]["first"].astype(np.float64) for e in ("exact", *ENGINES)}
    size = np.linalg.norm(found["exact"])
    return {engine: float(np.linalg.norm(found[engine] - found["exact"]) / size) for engine in ENGINES}


# --- trained ----------------------------------------------------------------------------------------------------------

STEPS, HIDDEN, RATE = 60, 32, 1e-2
FP32_SUMS = "fma_fp32"


def painting(seed: int, progress: Progress | None, store: Store) -> dict[str, float]:
    """Return each accumulator model's final mean squared error after 60 training steps."""
    found: dict[str, float] = {}
    for engine in (FP32_SUMS, *ENGINES):

        def measure(_: Store, engine: str = engine) -> dict[str, float]:
            return {engine: _painted(seed, engine, progress)}

        found |= store.values(engine, measure)
    return found


def _painted(seed: int, engine: str, progress: Progress | None) -> float:
    spec, weights = _recipe(engine), initial(seed, HIDDEN)
    adam = Adam(weights)
    for step in range(STEPS):
        error, found = gradients(spec, weights)
        adam.step(found, RATE)
        if progress:
            progress(f"seed {seed}, {engine}: error {error:.4f}", step + 1, STEPS)
    return gradients(spec, weights)[0]
