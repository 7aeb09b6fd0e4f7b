"""Compute a neural network layer in 8-bit formats, and measure the errors of the results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fp9
from fp9.engines import Engine, engine
from fp9.formats import Format, floor_log2
from fp9_sim.demo.network import LayerTensors, Matrix, Network

ACCUMULATORS = ("fma_fp32", "dlfloat")


@dataclass(frozen=True)
class Scheme:
    """Matrix product of the layer (forward or backward), and the number formats of both factors."""

    direction: str
    a: Format
    b: Format


DIRECTIONS = ("forward", "backward")


def factors(direction: str, layer: LayerTensors) -> tuple[Matrix, Matrix]:
    if direction == "forward":
        return layer.activations, layer.weights
    return layer.gradient, layer.weights.T


SCHEMES = tuple(
    Scheme(direction, fp9.format(a), fp9.format(b))
    for direction, a, b in (
        ("forward", "e4m3", "e4m3"),
        ("forward", "hif8", "hif8"),
        ("forward", "hfp8_143", "hfp8_143"),
        ("backward", "e5m2", "e4m3"),
        ("backward", "hfp8_152", "hfp8_143"),
    )
)


@dataclass(frozen=True)
class Quantised:
    """Codes of a matrix that was multiplied by 2^exponent before the cast."""

    codes: NDArray[Any]
    format: Format
    exponent: int

    @property
    def values(self) -> NDArray[np.float64]:
        """Return the decoded matrix divided by its scale 2^exponent, as float64."""
        return np.ldexp(fp9.decode(self.codes, self.format).astype(np.float64), -self.exponent)


@dataclass(frozen=True)
class Product:
    """A matrix product of the layer, computed by one accumulator model, and the product's relative errors.

    All errors use the Frobenius norm. `quantisation_error` compares the float64 product of the quantised factors with
    the float64 product of the original factors. `accumulation_error` compares the golden model's product with the
    float64 product of the quantised factors. `total_error` compares the golden model's product with the float64 product
    of the original factors.
    """

    scheme: Scheme
    engine: Engine
    a: Quantised
    b: Quantised
    codes: NDArray[Any]
    quantisation_error: float
    accumulation_error: float
    total_error: float


def finest_exponent(fmt: Format) -> int:
    """Return the highest exponent at which numbers of a format have the format's largest number of fraction bits."""
    binades = range(floor_log2(fmt.value_of(fmt.smallest_code)), floor_log2(fmt.value_of(fmt.max_code)) + 1)
    # For HiFloat8 (`hif8`), the result is 3. With a fixed number of fraction bits, the result is the exponent of the
    # largest number.
    return max(binades, key=lambda exponent: (exponent - fmt.quantum(exponent), exponent))


def scale_exponent(x: NDArray[np.floating], fmt: Format) -> int:
    """Return the exponent of the power of two by which a matrix is multiplied before a cast to a format."""
    largest = float(np.abs(x).max(initial=0))
    if largest == 0:
        return 0
    # The scale moves the largest magnitude to the format's highest binade with full precision.
    exponent = finest_exponent(fmt) - (math.frexp(largest)[1] - 1)
    return exponent - (math.ldexp(largest, exponent) > fmt.max)


def quantise(x: NDArray[np.floating], fmt: Format) -> Quantised:
    exponent = scale_exponent(x, fmt)
    return Quantised(fp9.encode(np.ldexp(x, exponent), fmt), fmt, exponent)


def multiply(a: Quantised, b: Quantised, by: Engine) -> NDArray[np.float64]:
    """Multiply two quantised matrices with the golden model, and divide the product by the scales of both matrices."""
    return _unscaled(_sums(a, b, by), a, b, by)


def _sums(a: Quantised, b: Quantised, by: Engine) -> NDArray[Any]:
    codes: NDArray[Any] = fp9.matmul(a.codes, b.codes, a.format, b.format, engine=by)
    return codes


def _unscaled(codes: NDArray[Any], a: Quantised, b: Quantised, by: Engine) -> NDArray[np.float64]:
    return np.ldexp(fp9.decode(codes, by.output).astype(np.float64), -(a.exponent + b.exponent))


def product(layer: LayerTensors, scheme: Scheme, by: Engine) -> Product:
    x, y = factors(scheme.direction, layer)
    a, b = quantise(x, scheme.a), quantise(y, scheme.b)
    codes = _sums(a, b, by)
    real, exact, golden = x.astype(np.float64) @ y.astype(np.float64), a.values @ b.values, _unscaled(codes, a, b, by)
    errors = relative_error(exact, real), relative_error(golden, exact), relative_error(golden, real)
    return Product(scheme, by, a, b, codes, *errors)


def products(layer: LayerTensors) -> list[Product]:
    return [product(layer, scheme, engine(name)) for scheme in SCHEMES for name in ACCUMULATORS]


def relative_error(result: NDArray[np.float64], exact: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(result - exact) / np.linalg.norm(exact))


def scores(network: Network, images: Matrix, fmt: Format, by: Engine) -> NDArray[np.float64]:
    values: NDArray[np.floating] = images
    for index, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        result = multiply(quantise(values, fmt), quantise(weight, fmt), by) + bias
        values = np.maximum(result, 0) if index + 1 < len(network.weights) else result
    return values.astype(np.float64)
