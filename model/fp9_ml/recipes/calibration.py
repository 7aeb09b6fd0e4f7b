"""HiFloat8's calibration of trained models: finds two power-of-two scales for each layer.

Source: HiFloat8 (Luo et al., arXiv 2409.16626) section 4.2, Algorithm 1. The paper does not define three details. Of
several pairs of exponents (Ea, Ew) with equal error, fp9 chooses the pair with the smallest |Ea| + |Ew|. The bias is
added after the product. The input of a layer is the output of the calibrated previous layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fp9.casts.arrays import as_numbers, decode, encode
from fp9.engines import Engine
from fp9.engines import engine as find_engine
from fp9.formats import Format, format
from fp9.sums.operands import operand
from fp9.sums.products import matmul

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Exponents that the paper tries for activations and for weights.
EXPONENTS = range(-4, 6)


class Layer(Protocol):
    """Layer to be calibrated: a weight matrix (out, in), and a function that follows the matrix product."""

    @property
    def weight(self) -> ArrayLike:
        """Return the weight matrix (out, in)."""

    def forward(self, product: NDArray[np.float32]) -> NDArray[np.float32]:
        """Compute the next layer's input (n, in) from the product (n, out) of this layer's input and weights."""


@dataclass(frozen=True)
class Linear:
    """Linear layer with a weight matrix (out, in) and an optional bias (out,). The field `vector` is the activation
    function.
    """

    weight: NDArray[np.float32]
    bias: NDArray[np.float32] | None = None
    vector: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None = None

    def forward(self, product: NDArray[np.float32]) -> NDArray[np.float32]:
        """Add the bias to the product, and apply the activation function."""
        total = product if self.bias is None else product + self.bias
        return total if self.vector is None else self.vector(total)


@dataclass(frozen=True)
class Calibrated:
    """Scale exponents for the activations and weights of a layer, and errors of the layer's matrix product.

    `error` is the mean squared error of the matrix product with these scale exponents. `direct` is the mean squared
    error without scales, which means with both scale exponents equal to 0. If calibration did not try the pair of
    exponents (0, 0), `direct` is NaN.
    """

    activation: int
    weight: int
    error: float
    direct: float


def calibrate(
    layers: Sequence[Layer],
    data: ArrayLike,
    fmt: Format | str = "hif8",
    engine: Engine | str = "fma_fp32",
    *,
    activations: Iterable[int] = EXPONENTS,
    weights: Iterable[int] = EXPONENTS,
    rounding: str | None = "rna",
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Calibrated]:
    """For each layer, find the scale exponents of activations and weights that minimise the error of the product.

    `data` (n, in) is the calibration data. First, NumPy computes each layer's product A W^T of activations A (n, in)
    and weights W (out, in) in FP32. With the scale exponents Ea and Ew, the quantised operands A_q and W_q are A 2^Ea
    and W 2^Ew, rounded to the format `fmt`. The accumulator model `engine` multiplies the quantised activations A_q by
    the quantised weights W_q. The quantised product O_q = (A_q W_q^T) 2^-(Ea + Ew) no longer contains the scale factors
    2^Ea and 2^Ew. The function chooses the scale exponents with the smallest mean squared error between the quantised
    product and the FP32 product. The layer's method `forward` computes the next layer's input from the quantised
    product O_q. After each layer, `progress` is called with the layer's name, the layer's number and the number of
    layers.

    Raises ValueError if there are no layers or exponents, if shapes do not match, or if products are not finite.
    """
    target, chosen = format(fmt), find_engine(engine)
    pairs = pairs_of(activations, weights)
    if not layers or not pairs:
        raise ValueError(f"{len(layers)} layers and {len(pairs)} pairs of exponents given; give one or more of each")
    exact = _exact(layers, data)
    inputs = np.asarray(as_numbers(data), dtype=np.float32)
    found = []
    for number, (layer, wanted) in enumerate(zip(layers, exact, strict=True), 1):
        best, product = best_pair(inputs, _weight(layer), wanted, (target, target), chosen, pairs, rounding)
        found.append(best)
        inputs = np.asarray(layer.forward(product), dtype=np.float32)
        if progress:
            progress(f"layer {number}", number, len(layers))
    return found


def _exact(layers: Sequence[Layer], data: ArrayLike) -> list[NDArray[np.float32]]:
    inputs, products = np.asarray(as_numbers(data), dtype=np.float32), []
    for number, layer in enumerate(layers):
        weight = _weight(layer)
        if inputs.ndim != 2 or weight.ndim != 2 or inputs.shape[1] != weight.shape[1]:
            raise ValueError(
                f"layer {number}: input of shape {inputs.shape} and weight of {weight.shape} given; give (n, in) and "
                "(out, in)"
            )
        products.append(inputs @ weight.T)
        if not np.isfinite(products[-1]).all():
            raise ValueError(f"layer {number}: its product has infinities or NaN; give finite data and weights")
        inputs = np.asarray(layer.forward(products[-1]), dtype=np.float32)
    return products


def _weight(layer: Layer) -> NDArray[np.float32]:
    return np.asarray(as_numbers(layer.weight), dtype=np.float32)


def pairs_of(activations: Iterable[int] = EXPONENTS, weights: Iterable[int] = EXPONENTS) -> list[tuple[int, int]]:
    """Return pairs of activation and weight exponents, sorted by the sum of their absolute values."""
    weights = list(weights)
    return sorted(((a, w) for a in activations for w in weights), key=lambda pair: abs(pair[0]) + abs(pair[1]))


def best_pair(
    inputs: NDArray[np.float32],
    weight: NDArray[np.float32],
    wanted: NDArray[np.float32],
    formats: tuple[Format, Format],
    engine: Engine,
    pairs: Sequence[tuple[int, int]],
    rounding: str | None = "rna",
) -> tuple[Calibrated, NDArray[np.float32]]:
    """Return the scale exponents with the least mean squared error, and the quantised matrix product (n, out).

    The operands are `inputs` (n, in) and `weight` (out, in).
    """
    left, right = formats
    a = {e: operand(encode(inputs, left, rounding, scale=-e), left) for e in {pair[0] for pair in pairs}}
    w = {e: operand(encode(weight, right, rounding, scale=-e), right).T for e in {pair[1] for pair in pairs}}
    best: tuple[float, tuple[int, int], Any] | None = None
    direct = float("nan")
    for pair in pairs:
        codes = matmul(a[pair[0]], w[pair[1]], engine=engine)
        product = decode(codes, engine.output, scale=-sum(pair)).astype(np.float32)
        error = float(np.mean((product.astype(np.float64) - wanted) ** 2))
        direct = error if pair == (0, 0) else direct
        if best is None or error < best[0] or np.isnan(best[0]):
            best = (error, pair, product)
    assert best is not None
    return Calibrated(*best[1], best[0], direct), best[2]
