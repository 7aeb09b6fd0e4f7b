"""Train the demonstration's network in float32: a small perceptron for handwritten digits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fp9_ml.experiments.networks.digits import images_and_labels

Matrix = NDArray[np.float32]

LAYER_SIZES = (64, 64, 32, 10)
TEST_SHARE = 0.25
EPOCHS = 40
BATCH = 64
LEARNING_RATE = 0.05
MOMENTUM = 0.9
# The layer has 64 inputs and 32 outputs.
LAYER = 1
TAKEN = 32


@dataclass(frozen=True)
class Digits:
    """Handwritten digits for training and test: images (n, 64) in [0, 1] and labels (n,) from 0 to 9."""

    train_images: Matrix
    train_labels: NDArray[np.int64]
    test_images: Matrix
    test_labels: NDArray[np.int64]


@dataclass(frozen=True)
class Network:
    """Float32 weights (inputs, outputs) and biases (outputs,) of all layers, with ReLU between layers."""

    weights: tuple[Matrix, ...]
    biases: tuple[Matrix, ...]

    def activations(self, images: Matrix) -> list[Matrix]:
        """Return the input of each layer, followed by the class scores."""
        values = [images]
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            scores = values[-1] @ weight + bias
            values.append(np.maximum(scores, np.float32(0)) if index + 1 < len(self.weights) else scores)
        return values

    def gradients(self, values: list[Matrix], labels: NDArray[np.int64]) -> list[Matrix]:
        """Return the gradient of the mean cross-entropy with respect to each layer's output before ReLU."""
        gradient = softmax(values[-1])
        gradient[np.arange(len(labels)), labels] -= 1
        gradient /= np.float32(len(labels))
        flowing = [gradient]
        for index in range(len(self.weights) - 1, 0, -1):
            gradient = (gradient @ self.weights[index].T) * (values[index] > 0)
            flowing.insert(0, gradient)
        return flowing


@dataclass(frozen=True)
class LayerTensors:
    """Float32 activations (m, k), weights (k, n) and output gradient (m, n) of one layer."""

    activations: Matrix
    weights: Matrix
    gradient: Matrix


def digits(seed: int = 0) -> Digits:
    pixels, classes = images_and_labels()
    order = np.random.default_rng(seed).permutation(len(classes))
    images, labels = (pixels[order] / 16).astype(np.float32), classes[order]
    test = round(TEST_SHARE * len(labels))
    return Digits(images[test:], labels[test:], images[:test], labels[:test])


def softmax(scores: Matrix) -> Matrix:
    powers: Matrix = np.exp(scores - scores.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def initial(generator: np.random.Generator) -> Network:
    # The random weights have the variance 2 / inputs (He et al. 2015).
    shapes = list(pairwise(LAYER_SIZES))
    weights = tuple((generator.normal(size=s) * np.sqrt(2 / s[0])).astype(np.float32) for s in shapes)
    return Network(weights, tuple(np.zeros(outputs, np.float32) for _, outputs in shapes))


def train(data: Digits, seed: int = 0, epochs: int = EPOCHS) -> Network:
    generator = np.random.default_rng(seed)
    network = initial(generator)
    parameters = [*network.weights, *network.biases]
    speeds = [np.zeros_like(p) for p in parameters]
    for _ in range(epochs):
        order = generator.permutation(len(data.train_labels))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            slopes = _slopes(network, data.train_images[batch], data.train_labels[batch])
            for parameter, speed, slope in zip(parameters, speeds, slopes, strict=True):
                speed *= np.float32(MOMENTUM)
                speed -= np.float32(LEARNING_RATE) * slope
                parameter += speed
    return network


def _slopes(network: Network, images: Matrix, labels: NDArray[np.int64]) -> list[Matrix]:
    values = network.activations(images)
    flowing = network.gradients(values, labels)
    return [v.T @ g for v, g in zip(values, flowing, strict=False)] + [g.sum(axis=0) for g in flowing]


def tensors(network: Network, data: Digits, layer: int = LAYER, samples: int = TAKEN) -> LayerTensors:
    values = network.activations(data.test_images[:samples])
    flowing = network.gradients(values, data.test_labels[:samples])
    return LayerTensors(values[layer], network.weights[layer], flowing[layer])


def accuracy(scores: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    return float(np.mean(scores.argmax(axis=1) == labels))
