"""Compares methods that convert a trained character model to 8-bit formats."""

from __future__ import annotations

import math

import numpy as np

from fp9.formats import format
from fp9_ml.experiments.networks.characters import AFTER_NORM, LINEAR, Parameters, Product, blas, forward
from fp9_ml.experiments.networks.layer_products import EightBit, Pair, eight_bit, through
from fp9_ml.experiments.networks.layers import Numbers, log_softmax
from fp9_ml.experiments.networks.train import Trained
from fp9_ml.recipes import smooth
from fp9_ml.recipes.calibration import best_pair, pairs_of

# Calibration windows of 64 characters at the start of the held-out text.
CALIBRATION = 16
# Measured windows of 64 characters, which follow the calibration windows.
MEASURED = 64


class Divergence:
    """Difference between the predictions of a converted model and of the float32 model."""

    def __init__(self, trained: Trained) -> None:
        self._tokens = trained.windows(64 * CALIBRATION, MEASURED)[:, :-1]
        self._logs = log_softmax(forward(trained.parameters, self._tokens).logits)

    def of(self, parameters: Parameters, product: Product = blas) -> float:
        """Return the Kullback-Leibler divergence from the float32 model, in nats per character."""
        logs = log_softmax(forward(parameters, self._tokens, product).logits)
        return float((np.exp(self._logs) * (self._logs - logs)).sum(-1).mean())


def layer_inputs(trained: Trained, parameters: Parameters) -> dict[str, Numbers]:
    found: dict[str, Numbers] = {}

    def watch(name: str, x: Numbers, weight: Numbers) -> Numbers:
        found[name] = x
        return blas(name, x, weight)

    forward(parameters, trained.windows(0, CALIBRATION)[:, :-1], watch)
    return found


def top_exponents(trained: Trained, parameters: Parameters, top: float) -> dict[str, Pair]:
    """Return exponents of scales that bring the largest magnitude of each tensor into (`top` / 2, `top`]."""

    def exponent(x: Numbers) -> int:
        return math.floor(math.log2(top / float(np.abs(x).max())))

    inputs = layer_inputs(trained, parameters)
    return {name: (exponent(inputs[name]), exponent(parameters[f"{name}.weight"])) for name in LINEAR}


def searched_exponents(trained: Trained, parameters: Parameters, cast: EightBit) -> dict[str, Pair]:
    wanted: dict[str, Numbers] = {}
    found: dict[str, Pair] = {}

    def watch(name: str, x: Numbers, weight: Numbers) -> Numbers:
        wanted[name] = blas(name, x, weight)
        return wanted[name]

    def search(name: str, x: Numbers, weight: Numbers) -> Numbers:
        best, product = best_pair(x, weight.T, wanted[name], (cast.fmt, cast.fmt), cast.engine, pairs)
        found[name] = best.activation, best.weight
        return product

    pairs, tokens = pairs_of(), trained.windows(0, CALIBRATION)[:, :-1]
    forward(parameters, tokens, watch)
    forward(parameters, tokens, search)
    return found


def smoothed(trained: Trained, parameters: Parameters, alpha: float = 0.5) -> Parameters:
    """Apply SmoothQuant after every layer norm (Xiao et al., arXiv 2211.10438, eq. 4)."""
    inputs, changed = layer_inputs(trained, parameters), dict(parameters)
    for name, norm in AFTER_NORM.items():
        factors = smooth(inputs[name], parameters[f"{name}.weight"].T, alpha)
        changed |= _shifted(parameters, name, norm, np.reciprocal(factors))
    return changed


def with_outliers(parameters: Parameters, channels: int = 4, exponent: int = 10, seed: int = 0) -> Parameters:
    """Multiply some channels by 2^`exponent`, to imitate the outliers of large language models."""
    rng, changed = np.random.default_rng(seed), dict(parameters)
    for name, norm in AFTER_NORM.items():
        factors = np.ones(len(parameters[f"{norm}.gain"]), dtype=np.float32)
        factors[rng.choice(len(factors), channels, replace=False)] = 2.0**exponent
        # The next layer's weights are divided by the same factors, so the float32 results do not change.
        changed |= _shifted(parameters, name, norm, factors)
    return changed


def _shifted(parameters: Parameters, name: str, norm: str, factors: Numbers) -> Parameters:
    return {
        f"{norm}.gain": parameters[f"{norm}.gain"] * factors,
        f"{norm}.bias": parameters[f"{norm}.bias"] * factors,
        f"{name}.weight": parameters[f"{name}.weight"] / factors[:, None],
    }


# --- the tables -------------------------------------------------------------------------------------------------------

# Formats to which the model is cast without scaling.
DIRECT = ("e4m3", "hfp8_143", "e5m2", "hfp8_152", "hif8")


def conversions(trained: Trained) -> dict[str, float]:
    return _conversions(trained, trained.parameters)


def conversions_with_outliers(trained: Trained) -> dict[str, float]:
    found = _conversions(trained, with_outliers(trained.parameters))
    scaled = top_exponents(trained, trained.parameters, format("e4m3").max)
    without = Divergence(trained).of(trained.parameters, eight_bit("e4m3", exponents=scaled))
    return found | {"e4m3, amax to the top, no outliers": without}


def _conversions(trained: Trained, parameters: Parameters) -> dict[str, float]:
    divergence = Divergence(trained)
    found = {name: divergence.of(parameters, eight_bit(name)) for name in DIRECT}
    e4m3 = top_exponents(trained, parameters, format("e4m3").max)
    found["e4m3, amax to the top"] = divergence.of(parameters, eight_bit("e4m3", exponents=e4m3))
    # HiFloat8 has 3 fraction bits only between 2^-3 and 2^4. The amax is therefore scaled into [4, 8).
    middle = top_exponents(trained, parameters, 8.0)
    found["hif8, amax below 2^3"] = divergence.of(parameters, eight_bit("hif8", exponents=middle))
    pairs = searched_exponents(trained, parameters, eight_bit("hif8"))
    found["hif8, Algorithm 1"] = divergence.of(parameters, eight_bit("hif8", exponents=pairs))
    found["hif8, SmoothQuant"] = divergence.of(smoothed(trained, parameters), eight_bit("hif8"))
    return found


def weight_biases(trained: Trained) -> dict[str, float]:
    divergence = Divergence(trained)
    names = [f"f143(bias={bias})" for bias in range(0, 25)] + [f"f152(bias={bias})" for bias in range(4, 37)]
    names += [f"int8(bias={bias})" for bias in range(0, 16)] + [f"hfp8_143(bias={bias})" for bias in range(0, 5)]
    return {name: divergence.of(_cast_weights(trained.parameters, name)) for name in names}


def _cast_weights(parameters: Parameters, fmt: str) -> Parameters:
    weights = {f"{name}.weight": through(parameters[f"{name}.weight"], fmt) for name in LINEAR}
    return parameters | weights
