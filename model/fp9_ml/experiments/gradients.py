"""Effect of 8-bit formats on the gradients and the softmax of a trained model."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from fp9_ml.experiments.networks.characters import LINEAR, Parameters, backward, blas_back, forward
from fp9_ml.experiments.networks.layer_products import through
from fp9_ml.experiments.networks.layers import Numbers, cross_entropy
from fp9_ml.experiments.networks.train import Trained

BATCH = 16


def gradient_errors(trained: Trained) -> dict[str, float]:
    """For each 8-bit format, cast the output gradients, and return the relative error of the weight gradients."""
    batch = trained.windows(0, BATCH)
    run = forward(trained.parameters, batch[:, :-1])
    _, gradient = cross_entropy(run.logits, batch[:, 1:])
    exact = backward(run, gradient)
    names = ["e4m3", "f143(bias=7)", "hfp8_152", "e5m2", "hif8"]
    names += [f"f152(bias={bias})" for bias in range(8, 45)] + [f"f143(bias={bias})" for bias in range(8, 31)]
    names += [f"int8(bias={bias})" for bias in range(8, 26)]
    found = {}
    for name in names:
        found[name] = _distance(backward(run, gradient, partial(_cast, name)), exact)
    return found


def _cast(fmt: str, name: str, arrived: Numbers, x: Numbers, weight: Numbers) -> tuple[Numbers, Numbers]:
    return blas_back(name, through(arrived, fmt), x, weight)


def _distance(found: Parameters, exact: Parameters) -> float:
    weights = [f"{name}.weight" for name in LINEAR]
    error = sum(float(np.square(found[w] - exact[w], dtype=np.float64).sum()) for w in weights)
    return math.sqrt(error / sum(float(np.square(exact[w], dtype=np.float64).sum()) for w in weights))


ROWS = 128
LARGEST = 5


def softmax_ties(trained: Trained) -> dict[str, float]:
    """Measure how often a cast to 8 bits makes a row's two largest logits equal (HFP8, section 2.3 and Fig. 5)."""
    logits = forward(trained.parameters, trained.windows(0, ROWS)[:, :-1]).logits
    rows = logits.reshape(-1, logits.shape[-1])
    found = {}
    for fmt in ("hfp8_143", "hfp8_152"):
        for way, numbers in (("as they are", rows), ("maximum subtracted", rows - rows.max(-1, keepdims=True))):
            order = np.argsort(-numbers, axis=-1, kind="stable")[:, :LARGEST]
            top = np.take_along_axis(numbers, order, -1)
            rounded = through(top, fmt)
            found[f"{fmt}, {way}: ties"] = float((rounded[:, 0] == rounded[:, 1]).mean())
            found[f"{fmt}, {way}: error"] = _rms(rounded - top)
    return found


def _rms(x: Numbers) -> float:
    return math.sqrt(float(np.square(x, dtype=np.float64).mean()))
