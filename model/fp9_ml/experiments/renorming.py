"""Effect of re-tuned batch norms after a network is cast to 8 bits.

Source: HFP8 (Sun et al., NeurIPS 2019), section 3, eq. 2 and Fig. 6.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fp9.casts.arrays import decode, encode
from fp9.formats import Format, format
from fp9.sums.products import dot
from fp9_ml.experiments.networks.convolutions import (
    Digits,
    Moments,
    Parameters,
    Sums,
    backward,
    digits,
    forward,
    initial,
    plain,
)
from fp9_ml.experiments.networks.layer_products import eight_bit, through
from fp9_ml.experiments.networks.layers import Adam, Numbers, cross_entropy

EPOCHS = 25
BATCH = 32
RATE = 1e-2
ENGINE = "fma_fp32"

WAYS = ("cast", "tuned again", "tuned again, depthwise in 16 bits")


def trained(seed: int, data: Digits, progress: Callable[[str, int, int], None] | None = None) -> Parameters:
    images, labels = data[:2]
    parameters = initial(seed)
    adam, rng = Adam(parameters), np.random.default_rng([seed, 3])
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        for start in range(0, len(images) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            run = forward(parameters, images[chosen])
            _, gradient = cross_entropy(run.logits, labels[chosen])
            adam.step(backward(run, gradient), RATE * (1 - epoch / EPOCHS))
        if progress:
            progress(f"seed {seed}, training", epoch + 1, EPOCHS)
    return parameters


def sums_in(fmt: Format, depthwise: Format) -> Sums:
    """Return a function that casts a layer's operands to `fmt`, multiplies them, and adds the products in FP32."""
    # The first layer stays in FP32, and depthwise layers use the format `depthwise`.
    product = eight_bit(fmt, ENGINE)

    def sums(name: str, x: Numbers, weight: Numbers) -> Numbers:
        if name == "first":
            return plain(name, x, weight)
        if x.ndim == 2:
            return product(name, x, weight)
        if depthwise.bits > 8:
            return plain(name, through(x, depthwise), through(weight, depthwise))
        a, b = (encode(np.moveaxis(operand, 0, -1), depthwise, "rna") for operand in (x, weight))
        return decode(dot(a, b, depthwise, depthwise, ENGINE), "fp32")

    return sums


def batch_norms(seed: int, progress: Callable[[str, int, int], None] | None = None) -> dict[str, float]:
    """Return accuracy and relative error in 8-bit formats, with and without re-tuned batch norms."""
    data = digits(seed)
    parameters = trained(seed, data, progress)
    images, labels = data[2:]
    moments = forward(parameters, data[0]).moments
    exact = forward(parameters, images, moments).logits
    found = {"fp32: accuracy": _accuracy(exact, labels)}
    for fmt in ("hfp8_152", "hfp8_143", "hif8"):
        ways = _logits(parameters, data[0], images, moments, fmt)
        for way, logits in zip(WAYS, ways, strict=True):
            found[f"{fmt}, {way}: accuracy"] = _accuracy(logits, labels)
            found[f"{fmt}, {way}: error"] = float(np.square(logits - exact).mean() / np.square(exact).mean())
    return found


def _logits(parameters: Parameters, calibration: Numbers, images: Numbers, moments: Moments, fmt: str) -> list[Numbers]:
    eight, mixed = sums_in(format(fmt), format(fmt)), sums_in(format(fmt), format("dlfloat16"))
    found = [forward(parameters, images, moments, eight).logits]
    for sums in (eight, mixed):
        again = forward(parameters, calibration, sums=sums).moments
        found.append(forward(parameters, images, again, sums).logits)
    return found


def _accuracy(logits: Numbers, labels: Numbers) -> float:
    return float((logits.argmax(-1) == labels).mean())
