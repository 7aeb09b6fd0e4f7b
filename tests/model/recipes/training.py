"""A small network on scikit-learn's digits whose weights are kept in a narrow format while it trains."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import fp9
from fp9.recipes import Recipe, RoundOff

SIZES = (64, 64, 32, 10)
BATCH = 64
MOMENTUM = np.float32(0.9)
LOSS_SCALE = np.float32(1024)


class Outcome(NamedTuple):
    """Loss before and after training, and the share of updates that moved a weight's code."""

    before: float
    after: float
    moved: float


class Network:
    """Linear layers with ReLU between; every product goes through the recipe."""

    def __init__(self, spec: Recipe, images: NDArray[np.float32], labels: NDArray[np.int64]) -> None:
        self.spec, self.images, self.labels = spec, images, labels

    def loss(self, weights: list[NDArray[np.float32]]) -> float:
        """Mean cross entropy over all images."""
        h = self.images
        for number, w in enumerate(weights):
            h, _ = self.spec.linear(np.maximum(h, 0) if number else h, w)
        shifted = h - h.max(axis=1, keepdims=True)
        return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(h)), self.labels]))

    def gradients(self, weights: list[NDArray[np.float32]], rows: NDArray[np.int64]) -> list[NDArray[np.float32]]:
        """Gradients of the loss over some images with respect to the weights."""
        h, kept, outputs = self.images[rows], [], []
        for number, w in enumerate(weights):
            h, saved = self.spec.linear(np.maximum(h, 0) if number else h, w)
            kept.append(saved)
            outputs.append(h)
        powers = np.exp(h - h.max(axis=1, keepdims=True))
        g = powers / powers.sum(axis=1, keepdims=True)
        g[np.arange(len(rows)), self.labels[rows]] -= 1
        g *= LOSS_SCALE / len(rows)
        found = []
        for number in reversed(range(len(weights))):
            back = self.spec.linear_backward(g, kept[number])
            found.append(back.dw / LOSS_SCALE)
            g = back.dx * (outputs[number - 1] > 0) if number else back.dx
        return found[::-1]


def train(net: Network, rule: RoundOff, seed: int, epochs: int, rate: float, master: bool = False) -> Outcome:
    """Stochastic gradient descent with momentum.

    With `master` the weights are FP32, and only start in the rule's format.
    """
    rng, random = np.random.default_rng(seed), np.random.default_rng(seed + 100)
    drawn = [rng.normal(0, np.sqrt(2 / a), (b, a)).astype(np.float32) for a, b in pairwise(SIZES)]
    states = [rule.start(w, random) for w in drawn]
    weights = [fp9.decode(codes, rule.weights).astype(np.float32) for codes, _ in states]
    velocity = [np.zeros_like(w) for w in weights]
    before, moved, chances = net.loss(weights), 0, 0
    for _ in range(epochs):
        order = rng.permutation(len(net.labels))
        for first in range(0, len(order) - BATCH + 1, BATCH):
            for layer, gradient in enumerate(net.gradients(weights, order[first : first + BATCH])):
                velocity[layer] = MOMENTUM * velocity[layer] + gradient
                update = np.float32(rate) * velocity[layer]
                if master:
                    weights[layer] = weights[layer] - update
                    continue
                old = states[layer][0]
                states[layer] = rule.step(old, states[layer][1], update, random)
                weights[layer] = fp9.decode(states[layer][0], rule.weights).astype(np.float32)
                moved, chances = moved + int((states[layer][0] != old).sum()), chances + old.size
    return Outcome(before, net.loss(weights), moved / max(chances, 1))
