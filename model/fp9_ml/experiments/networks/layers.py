"""Forward and backward functions for the layers of small networks, except linear layers."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float32]
Saved: TypeAlias = tuple[Any, ...]

# Constant that both norms add to a variance before taking the square root.
EPSILON = np.float32(1e-5)


def layer_norm(x: Numbers, gain: Numbers, offset: Numbers) -> tuple[Numbers, Saved]:
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(np.square(centred).mean(-1, keepdims=True) + EPSILON)
    unit = centred * inverse
    return unit * gain + offset, (unit, inverse, gain)


def layer_norm_back(gradient: Numbers, saved: Saved) -> tuple[Numbers, Numbers, Numbers]:
    unit, inverse, gain = saved
    rows = tuple(range(gradient.ndim - 1))
    scaled = gradient * gain
    mean = scaled.mean(-1, keepdims=True)
    along = (scaled * unit).mean(-1, keepdims=True)
    return (scaled - mean - unit * along) * inverse, (gradient * unit).sum(rows), gradient.sum(rows)


_GELU = np.float32(math.sqrt(2 / math.pi))
_CUBE = np.float32(0.044715)


def gelu(x: Numbers) -> tuple[Numbers, Saved]:
    """Return the tanh form of the Gaussian error linear unit (arXiv 1606.08415)."""
    bent = np.tanh(_GELU * (x + _CUBE * x * x * x))
    return x * (1 + bent) / 2, (x, bent)


def gelu_back(gradient: Numbers, saved: Saved) -> Numbers:
    x, bent = saved
    slope = (1 - bent * bent) * _GELU * (1 + 3 * _CUBE * x * x)
    result: Numbers = gradient * ((1 + bent) + x * slope) / 2
    return result


def softmax(x: Numbers) -> Numbers:
    powers = np.exp(x - x.max(-1, keepdims=True))
    result: Numbers = powers / powers.sum(-1, keepdims=True)
    return result


def attend(qkv: Numbers, heads: int) -> tuple[Numbers, Saved]:
    """Return causal attention (batch, time, d) of stacked queries, keys and values (batch, time, 3 d)."""
    batch, time, width = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    q, k, v = qkv.reshape(batch, time, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    root = np.float32(1 / math.sqrt(width // heads))
    future = np.triu(np.full((time, time), -np.inf, dtype=np.float32), 1)
    shares = softmax(q @ k.swapaxes(-1, -2) * root + future)
    mixed = (shares @ v).transpose(0, 2, 1, 3).reshape(batch, time, width)
    return mixed, (q, k, v, shares, root)


def attend_back(gradient: Numbers, saved: Saved) -> Numbers:
    q, k, v, shares, root = saved
    batch, heads, time, depth = q.shape
    mixed = gradient.reshape(batch, time, heads, depth).transpose(0, 2, 1, 3)
    to_shares = mixed @ v.swapaxes(-1, -2)
    to_scores = shares * (to_shares - (to_shares * shares).sum(-1, keepdims=True)) * root
    stacked = np.stack([to_scores @ k, to_scores.swapaxes(-1, -2) @ q, shares.swapaxes(-1, -2) @ mixed])
    return stacked.transpose(1, 3, 0, 2, 4).reshape(batch, time, 3 * heads * depth)


def cross_entropy(logits: Numbers, targets: NDArray[Any]) -> tuple[float, Numbers]:
    """Return the mean negative log likelihood in nats, and its gradient."""
    shares = softmax(logits).reshape(-1, logits.shape[-1])
    rows = np.arange(len(shares))
    chosen = shares[rows, targets.reshape(-1)]
    loss = float(-np.log(np.maximum(chosen, np.finfo(np.float32).tiny), dtype=np.float64).mean())
    shares[rows, targets.reshape(-1)] -= 1
    return loss, (shares / np.float32(len(rows))).reshape(logits.shape)


def log_softmax(x: NDArray[Any]) -> NDArray[np.float64]:
    shifted = x.astype(np.float64) - x.max(-1, keepdims=True)
    result: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return result


class Adam:
    """Adam optimiser (arXiv 1412.6980, algorithm 1), which updates parameters in place."""

    def __init__(self, parameters: dict[str, Numbers], betas: tuple[float, float] = (0.9, 0.999)) -> None:
        self._parameters, self._betas, self.steps = parameters, betas, 0
        self.moments = {name: (np.zeros_like(p), np.zeros_like(p)) for name, p in parameters.items()}

    def step(self, gradients: dict[str, Numbers], rate: float) -> None:
        self.steps += 1
        first, second = self._betas
        size = np.float32(rate * math.sqrt(1 - second**self.steps) / (1 - first**self.steps))
        for name, gradient in gradients.items():
            mean, square = self.moments[name]
            mean += np.float32(1 - first) * (gradient - mean)
            square += np.float32(1 - second) * (gradient * gradient - square)
            self._parameters[name] -= size * mean / (np.sqrt(square) + np.float32(1e-8))
