"""Conversion of a trained model: softmax, batch normalisation, smoothing, HiF8's Algorithm 1."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import fp9
from fp9_ml.recipes import BatchNorm, Calibrated, Linear, calibrate, recipe, retune_bn, smooth, softmax

# --- softmax --------------------------------------------------------------------------------------------------------


def test_subtraction_keeps_the_largest_logits_apart() -> None:
    """HFP8 section 2.3: near 20, 1-4-3 has steps of 2; below the largest logit it has steps of 2^-4 and less."""
    logits = np.float32([[20.0, 19.5, 3.0]])
    raw, subtracted = (softmax(logits, "hfp8_143", subtract_max=how) for how in (False, True))
    assert raw[0, 0] == raw[0, 1]
    assert subtracted[0, 0] > 1.6 * subtracted[0, 1]


@pytest.mark.parametrize("subtract_max", [False, True])
def test_softmax_is_that_of_the_cast_logits(subtract_max: bool) -> None:
    logits = np.random.default_rng(0).normal(0, 4, (50, 12)).astype(np.float32)
    cast = fp9.decode(fp9.encode(logits - logits.max(-1, keepdims=True) if subtract_max else logits, "e4m3"), "e4m3")
    powers = np.exp(cast.astype(np.float64))
    expected = powers / powers.sum(-1, keepdims=True)
    assert np.allclose(softmax(logits, "e4m3", subtract_max=subtract_max), expected, rtol=1e-6, atol=1e-30)


def test_minus_infinity_is_a_logit_and_plus_infinity_is_none() -> None:
    assert softmax([[0.0, -np.inf]], "hif8").tolist() == [[1.0, 0.0]]
    for bad in ([[np.inf, 0.0]], [[np.nan, 0.0]], [[-np.inf, -np.inf]]):
        with pytest.raises(ValueError, match="give at least one finite logit"):
            softmax(bad, "hif8")


# --- batch normalisation --------------------------------------------------------------------------------------------


class Model:
    """An 8-bit layer with a batch normalisation behind it."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.weight = rng.normal(0, 0.5, (6, 8)).astype(np.float32)
        self.norm = BatchNorm(np.zeros(6), np.ones(6), rng.normal(1, 0.1, 6), rng.normal(0, 0.1, 6))
        self.seen: list[NDArray[np.float32]] = []

    def __call__(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        product, _ = recipe("hfp8").linear(x, self.weight)
        self.seen.append(product)
        return self.norm(product)


def test_retuned_statistics_are_averages_over_batches() -> None:
    """As torch with momentum None: means, and unbiased variances, of what the layer sees in its own precision."""
    model = Model(0)
    batches = np.random.default_rng(1).normal(1, 2, (5, 30, 8)).astype(np.float32)
    gamma = model.norm.gamma.copy()
    retune_bn(model, [model.norm], batches)
    seen = np.array(model.seen, dtype=np.float64)
    assert np.array_equal(model.norm.mean, seen.mean(axis=1).mean(axis=0).astype(np.float32))
    assert np.allclose(model.norm.var, seen.var(axis=1, ddof=1).mean(axis=0), rtol=1e-6)
    assert np.array_equal(model.norm.gamma, gamma)
    out = np.concatenate([model(b) for b in batches])
    assert np.allclose(out.mean(axis=0), model.norm.beta, atol=0.02)
    assert np.allclose(out.std(axis=0), abs(model.norm.gamma), rtol=0.05)


def test_retuning_halves_hfp8s_error_as_its_equation_2_says() -> None:
    """E|Z-Zq|^2 = g^2 sQ^2/sY^2 with the old statistics, 2 g^2 (1 - 1/sqrt(1 + sQ^2/sY^2)) with new ones."""
    rng = np.random.default_rng(2)
    y = rng.normal(0.5, 2.0, (200_000, 1)).astype(np.float32)
    noise = rng.normal(0, 1.0, y.shape).astype(np.float32)
    norm, wanted = BatchNorm([0.5], [4.0], eps=0.0), (y - 0.5) / 2
    ratio = 1.0 / 4.0
    assert np.mean((norm(y + noise) - wanted) ** 2) == pytest.approx(ratio, rel=0.02)
    retune_bn(lambda batch: norm(np.asarray(batch)), [norm], [y + noise])
    retuned = np.mean((norm(y + noise) - wanted) ** 2)
    assert retuned == pytest.approx(2 * (1 - 1 / np.sqrt(1 + ratio)), rel=0.02)


def test_retuning_that_fails_changes_nothing() -> None:
    model = Model(3)
    other = BatchNorm(np.zeros(6), np.ones(6))
    batch = np.ones((4, 8), np.float32)
    for norms, batches, sentence in (
        ([model.norm], [], "has seen no batch"),
        ([model.norm, other], [batch], "normalisation 1 has seen no batch"),
        ([model.norm], [batch[:1]], "two values a channel"),
        ([model.norm], [batch, np.full((4, 8), np.nan, np.float32)], "infinities or NaN"),
    ):
        with pytest.raises(ValueError, match=sentence):
            retune_bn(model, norms, batches)
        assert not model.norm.mean.any()
        assert model.norm.collected is None


def test_images_have_their_channels_in_the_second_axis() -> None:
    x = np.random.default_rng(4).normal(0, 1, (3, 2, 5, 5)).astype(np.float32)
    norm = BatchNorm([1.0, 2.0], [4.0, 9.0], eps=0.0)
    assert np.allclose(norm(x)[:, 1], (x[:, 1] - 2) / 3, atol=1e-6)
    with pytest.raises(ValueError, match=r"give \(n, 2, ...\)"):
        norm(x[:, :1])
    with pytest.raises(ValueError, match="var >= 0"):
        BatchNorm([1.0], [-1.0])


# --- smoothing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.5, 1.0])
def test_smoothing_keeps_the_product_and_shares_the_outliers(alpha: float) -> None:
    rng = np.random.default_rng(5)
    x, w = rng.normal(0, 1, (40, 8)), rng.normal(0, 1, (6, 8))
    x[:, 3] *= 100
    s = smooth(x, w, alpha).astype(np.float64)
    assert np.allclose((x / s) @ (w * s).T, x @ w.T)
    largest = np.abs(x / s).max(axis=0), np.abs(w * s).max(axis=0)
    if alpha == 0.5:
        assert np.allclose(*largest)
    assert np.allclose(s, np.abs(x).max(0) ** alpha / np.abs(w).max(0) ** (1 - alpha), rtol=1e-6)


def test_a_channel_of_zeros_keeps_its_scale() -> None:
    x, w = np.ones((2, 3)), np.ones((2, 3))
    x[:, 0] = w[:, 1] = 0
    x[:, 2] = 16
    assert smooth(x, w).tolist() == [1.0, 1.0, 4.0]
    for bad_x, bad_w, alpha in ((x, w, 1.5), (x, np.ones((2, 4)), 0.5), (x + np.inf, w, 0.5)):
        with pytest.raises(ValueError, match="given"), np.errstate(invalid="ignore"):
            smooth(bad_x, bad_w, alpha)


# --- Algorithm 1 ----------------------------------------------------------------------------------------------------


def layers(seed: int, sizes: tuple[int, ...] = (10, 8, 4), scale: float = 0.3) -> list[Linear]:
    rng = np.random.default_rng(seed)
    return [
        Linear(rng.normal(0, scale, (b, a)).astype(np.float32), rng.normal(0, 0.1, b).astype(np.float32), np.tanh)
        for a, b in pairwise(sizes)
    ]


def by_the_paper(chain: list[Linear], data: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Algorithm 1, line by line, with the host's products of decoded codes (exact in float64)."""
    wanted, inputs = [], data
    for layer in chain:
        wanted.append((inputs @ layer.weight.T).astype(np.float64))
        inputs = layer.forward(inputs @ layer.weight.T)
    found, inputs = [], data
    for layer, target in zip(chain, wanted, strict=True):
        best: tuple[float, int, int, int, NDArray[np.float64]] | None = None
        for ea in range(-4, 6):
            for ew in range(-4, 6):
                a = fp9.decode(fp9.encode(inputs, "hif8", "rna", scale=-ea), "hif8").astype(np.float64)
                w = fp9.decode(fp9.encode(layer.weight, "hif8", "rna", scale=-ew), "hif8").astype(np.float64)
                product = (a @ w.T) * 2.0 ** -(ea + ew)
                error = float(np.mean((product - target) ** 2))
                if best is None or (error, abs(ea) + abs(ew)) < best[:2]:
                    best = (error, abs(ea) + abs(ew), ea, ew, product)
        assert best is not None
        found.append((best[2], best[3]))
        inputs = layer.forward(best[4].astype(np.float32))
    return found


@pytest.mark.parametrize("seed", [0, 1])
def test_calibration_is_algorithm_1(seed: int) -> None:
    chain = layers(seed, scale=0.02)
    data = np.random.default_rng(seed).normal(0, 30, (16, 10)).astype(np.float32)
    found = calibrate(chain, data)
    assert [(c.activation, c.weight) for c in found] == by_the_paper(chain, data)
    assert all(c.error <= c.direct for c in found)


def test_equal_errors_leave_tensors_unscaled() -> None:
    ones = [Linear(np.ones((2, 2), np.float32))]
    assert calibrate(ones, np.ones((3, 2))) == [Calibrated(0, 0, 0.0, 0.0)]


def test_what_cannot_be_calibrated_is_one_sentence() -> None:
    data = np.ones((3, 10), np.float32)
    for given_layers, given_data, options in (
        ([], data, {}),
        (layers(0), data, {"weights": []}),
        (layers(0), data[:, :3], {}),
        (layers(0), data + np.inf, {}),
    ):
        with pytest.raises(ValueError, match=r"given|give"), np.errstate(invalid="ignore"):
            calibrate(given_layers, given_data, **options)  # type: ignore[arg-type]
