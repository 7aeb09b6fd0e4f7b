"""Character model with about 100 thousand parameters: a transformer of two blocks in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fp9_ml.experiments.networks.layers import (
    Numbers,
    Saved,
    attend,
    attend_back,
    gelu,
    gelu_back,
    layer_norm,
    layer_norm_back,
)

WIDTH = 64
HEADS = 4
CONTEXT = 64
BLOCKS = 2
ALPHABET = "\n" + "".join(map(chr, range(32, 127)))

LINEAR = (*(f"{i}.{part}" for i in range(BLOCKS) for part in ("qkv", "mix", "up", "down")), "output")

AFTER_NORM = {
    **{f"{i}.{part}": f"{i}.{norm}" for i in range(BLOCKS) for part, norm in (("qkv", "norm1"), ("up", "norm2"))},
    "output": "norm",
}

Parameters: TypeAlias = dict[str, Numbers]
Product: TypeAlias = Callable[[str, Numbers, Numbers], Numbers]
Back: TypeAlias = Callable[[str, Numbers, Numbers, Numbers], tuple[Numbers, Numbers]]
"""Function that returns the gradients of a linear layer's input and weights.

The arguments are the layer's name, its output gradient (n, out), its input (n, in) and its weights (in, out).
"""


def blas(name: str, x: Numbers, weight: Numbers) -> Numbers:
    return x @ weight


def blas_back(name: str, arrived: Numbers, x: Numbers, weight: Numbers) -> tuple[Numbers, Numbers]:
    return arrived @ weight.T, x.T @ arrived


def codes_of(text: str) -> NDArray[np.uint8]:
    """Return indices in `ALPHABET`, and skip characters that `ALPHABET` lacks."""
    place = {character: i for i, character in enumerate(ALPHABET)}
    return np.array([place[character] for character in text if character in place], dtype=np.uint8)


def initial(seed: int, width: int = WIDTH) -> Parameters:
    rng = np.random.default_rng(seed)
    letters = len(ALPHABET)
    shapes = {"embedding": (letters, width), "position": (CONTEXT, width), "output.weight": (width, letters)}
    for i in range(BLOCKS):
        shapes |= {f"{i}.qkv.weight": (width, 3 * width), f"{i}.mix.weight": (width, width)}
        shapes |= {f"{i}.up.weight": (width, 4 * width), f"{i}.down.weight": (4 * width, width)}
    found = {name: rng.normal(0, 0.02, shape).astype(np.float32) for name, shape in shapes.items()}
    found |= {f"{name}.bias": np.zeros(found[f"{name}.weight"].shape[1], dtype=np.float32) for name in LINEAR}
    for norm in AFTER_NORM.values():
        found[f"{norm}.gain"], found[f"{norm}.bias"] = np.ones(width, np.float32), np.zeros(width, np.float32)
    return found


@dataclass
class Pass:
    """Logits (batch, time, letters) of a forward pass, and data for the backward pass."""

    parameters: Parameters
    tokens: NDArray[Any]
    logits: Numbers
    saved: dict[str, Saved]


def forward(parameters: Parameters, tokens: NDArray[Any], product: Product = blas) -> Pass:
    """Predict the next character at each position of `tokens` (batch, time)."""
    saved: dict[str, Saved] = {}

    def linear(name: str, x: Numbers) -> Numbers:
        rows = x.reshape(-1, x.shape[-1])
        saved[name] = (rows,)
        y = product(name, rows, parameters[f"{name}.weight"]) + parameters[f"{name}.bias"]
        return y.reshape(*x.shape[:-1], -1)

    def norm(name: str, x: Numbers) -> Numbers:
        y, saved[name] = layer_norm(x, parameters[f"{name}.gain"], parameters[f"{name}.bias"])
        return y

    x = parameters["embedding"][tokens] + parameters["position"][: tokens.shape[1]]
    for i in range(BLOCKS):
        mixed, saved[f"{i}.attend"] = attend(linear(f"{i}.qkv", norm(f"{i}.norm1", x)), HEADS)
        x = x + linear(f"{i}.mix", mixed)
        bent, saved[f"{i}.gelu"] = gelu(linear(f"{i}.up", norm(f"{i}.norm2", x)))
        x = x + linear(f"{i}.down", bent)
    return Pass(parameters, tokens, linear("output", norm("norm", x)), saved)


def backward(run: Pass, gradient: Numbers, back: Back = blas_back) -> Parameters:
    found: Parameters = {}

    def linear(name: str, arrived: Numbers) -> Numbers:
        rows = arrived.reshape(-1, arrived.shape[-1])
        x, found[f"{name}.weight"] = back(name, rows, run.saved[name][0], run.parameters[f"{name}.weight"])
        found[f"{name}.bias"] = rows.sum(0)
        return x.reshape(*arrived.shape[:-1], -1)

    def norm(name: str, arrived: Numbers) -> Numbers:
        x, found[f"{name}.gain"], found[f"{name}.bias"] = layer_norm_back(arrived, run.saved[name])
        return x

    x = norm("norm", linear("output", gradient))
    for i in reversed(range(BLOCKS)):
        x = x + norm(f"{i}.norm2", linear(f"{i}.up", gelu_back(linear(f"{i}.down", x), run.saved[f"{i}.gelu"])))
        x = x + norm(f"{i}.norm1", linear(f"{i}.qkv", attend_back(linear(f"{i}.mix", x), run.saved[f"{i}.attend"])))
    found["position"] = np.zeros_like(run.parameters["position"])
    found["position"][: x.shape[1]] = x.sum(0)
    found["embedding"] = np.zeros_like(run.parameters["embedding"])
    np.add.at(found["embedding"], run.tokens.reshape(-1), x.reshape(-1, x.shape[-1]))
    return found
