"""Training of a small digit classifier with 8-bit weights, by one learner (worker) or by several parallel learners.

Sources: HFP8 (Sun et al., NeurIPS 2019), tables 2 and 3, and Wang et al. (NeurIPS 2018).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode
from fp9_ml.experiments.networks.digits import images_and_labels
from fp9_ml.experiments.networks.layers import Numbers, cross_entropy
from fp9_ml.recipes import Recipe, Ring, RoundOff, recipe

SIZES = (64, 64, 32, 10)
BATCH = 64
EPOCHS, RATE, MOMENTUM = 16, 2e-4, np.float32(0.9)
LOSS_SCALE = np.float32(1024)
IMAGES = 512

RULES = {
    "1-4-3, nearest": RoundOff("hfp8_143"),  # type: ignore[arg-type]
    "1-4-3, residual": RoundOff("hfp8_143", "dlfloat16"),  # type: ignore[arg-type]
    "1-4-3, stochastic": RoundOff("hfp8_143", rounding="sr"),  # type: ignore[arg-type]
    "BF16, nearest": RoundOff("bf16"),  # type: ignore[arg-type]
    "BF16, residual": RoundOff("bf16", "dlfloat16"),  # type: ignore[arg-type]
}


class Network:
    """Network of linear layers with ReLU, whose products follow a training recipe."""

    def __init__(self, spec: Recipe, images: Numbers, labels: NDArray[Any]) -> None:
        self.spec, self.images, self.labels = spec, images, labels

    def loss(self, weights: list[Numbers]) -> float:
        h = self.images
        for number, w in enumerate(weights):
            h, _ = self.spec.linear(np.maximum(h, 0) if number else h, w)
        return cross_entropy(h, self.labels)[0]

    def gradients(self, weights: list[Numbers], rows: NDArray[Any]) -> list[Numbers]:
        h, kept, outputs = self.images[rows], [], []
        for number, w in enumerate(weights):
            h, saved = self.spec.linear(np.maximum(h, 0) if number else h, w)
            kept.append(saved)
            outputs.append(h)
        g = cross_entropy(h, self.labels[rows])[1] * LOSS_SCALE
        found = []
        for number in reversed(range(len(weights))):
            back = self.spec.linear_backward(g, kept[number])
            found.append(back.dw / LOSS_SCALE)
            g = back.dx * (outputs[number - 1] > 0) if number else back.dx
        return found[::-1]


def digits() -> Network:
    images, labels = images_and_labels()
    spec = recipe("hfp8(first=none,last=none)")
    return Network(spec, (images[:IMAGES] / 16).astype(np.float32), labels[:IMAGES])


class Outcome(NamedTuple):
    """Losses before and after training, and the share of updates that changed a weight."""

    before: float
    after: float
    moved: float


def drawn(seed: int) -> list[Numbers]:
    rng = np.random.default_rng(seed)
    return [rng.normal(0, np.sqrt(2 / a), (b, a)).astype(np.float32) for a, b in pairwise(SIZES)]


def batches(seed: int, images: int, epochs: int) -> list[NDArray[Any]]:
    rng = np.random.default_rng([seed, 1])
    orders = [rng.permutation(images) for _ in range(epochs)]
    return [order[i : i + BATCH] for order in orders for i in range(0, images - BATCH + 1, BATCH)]


def train(net: Network, rule: RoundOff, seed: int, epochs: int = EPOCHS, master: bool = False) -> Outcome:
    """Train 8-bit weights that `rule` updates, or FP32 weights if `master` is true."""
    random = np.random.default_rng([seed, 2])
    states = [rule.start(w, random) for w in drawn(seed)]
    # The initial FP32 weights are rounded to the weight format of `rule`, too.
    weights = [decode(codes, rule.weights).astype(np.float32) for codes, _ in states]
    velocity = [np.zeros_like(w) for w in weights]
    before, moved, chances = net.loss(weights), 0, 0
    for rows in batches(seed, len(net.labels), epochs):
        for layer, gradient in enumerate(net.gradients(weights, rows)):
            velocity[layer] = MOMENTUM * velocity[layer] + gradient
            update = np.float32(RATE) * velocity[layer]
            if master:
                weights[layer] = weights[layer] - update
                continue
            old = states[layer][0]
            states[layer] = rule.step(old, states[layer][1], update, random)
            weights[layer] = decode(states[layer][0], rule.weights).astype(np.float32)
            moved, chances = moved + int((states[layer][0] != old).sum()), chances + old.size
    return Outcome(before, net.loss(weights), moved / max(chances, 1))


def residuals(seed: int) -> dict[str, float]:
    """Return each update rule's decrease in loss as a fraction of the decrease with FP32 weights."""
    net = digits()
    whole = train(net, RULES["1-4-3, nearest"], seed, master=True)
    outcomes = {name: train(net, rule, seed) for name, rule in RULES.items()}
    found = {f"{name}: progress": _progress(outcome, whole) for name, outcome in outcomes.items()}
    return found | {"1-4-3, nearest: share of weights moved": outcomes["1-4-3, nearest"].moved}


def _progress(outcome: Outcome, whole: Outcome) -> float:
    return (outcome.before - outcome.after) / (whole.before - whole.after)


# --- learners in a ring ----------------------------------------------------------------------------------------------

LEARNERS = 4
RING_EPOCHS = 8


def ringed(net: Network, rule: RoundOff, seed: int, learners: int, epochs: int = RING_EPOCHS) -> tuple[Outcome, Ring]:
    # Every batch is divided among the learners.
    start = drawn(seed)
    ring = Ring(rule, np.concatenate([w.reshape(-1) for w in start]), learners)
    velocity = [np.zeros(part.stop - part.start, np.float32) for part in ring.parts]

    def update(learner: int, gradient: Numbers) -> Numbers:
        velocity[learner] = MOMENTUM * velocity[learner] + gradient
        stepped: Numbers = np.float32(RATE) * velocity[learner]
        return stepped

    before = net.loss(_layers(ring.weights))
    for rows in batches(seed, len(net.labels), epochs):
        weights = _layers(ring.weights)
        shares = [net.gradients(weights, part) for part in np.array_split(rows, learners)]
        ring.step([np.concatenate([g.reshape(-1) for g in share]) for share in shares], update)
    return Outcome(before, net.loss(_layers(ring.weights)), 0.0), ring


def _layers(weights: Numbers) -> list[Numbers]:
    shapes = [(b, a) for a, b in pairwise(SIZES)]
    ends = np.cumsum([b * a for b, a in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(weights, ends), shapes, strict=True)]


def rings(seed: int) -> dict[str, float]:
    """Compare training by four learners with 8-bit weights to training by one learner with FP32 weights."""
    net, found = digits(), {}
    whole = train(net, RULES["1-4-3, nearest"], seed, epochs=RING_EPOCHS, master=True)
    for name in ("1-4-3, nearest", "1-4-3, residual"):
        outcome, ring = ringed(net, RULES[name], seed, LEARNERS)
        found[f"{name}: progress"] = _progress(outcome, whole)
        found[f"{name}: codes that differ between learners"] = float(
            sum((copy != ring.copies[0]).sum() for copy in ring.copies)
        )
        found[f"{name}: bytes a weight"] = ring.bytes_per_weight
    return found
