"""Methods for 8-bit inference with a trained model: softmax, batch norm and SmoothQuant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fp9.casts.arrays import as_numbers, decode, encode
from fp9.formats import Format
from fp9.formats.rounding import Rounding

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Batches = Iterable["ArrayLike"]


def softmax(
    x: ArrayLike,
    fmt: Format | str,
    rounding: Rounding | str | None = None,
    *,
    subtract_max: bool = True,
) -> NDArray[np.float32]:
    """Cast logits to `fmt`, and return the softmax of the cast logits over the last axis, in FP32.

    As in HFP8 section 2.3, the largest logit of each row is subtracted before the cast. Large logits then have small
    rounding errors. HFP8 subtracts the largest logit in a format of at least 16 bits. fp9 subtracts the largest logit
    in FP32. If `subtract_max` is false, the logits are cast without subtraction. The paper does not define the
    precision of exp, sum and division, so fp9 computes them in float64.

    Raises ValueError for logits with NaN or plus infinity, and for rows that are all minus infinity.
    """
    logits = np.asarray(as_numbers(x), dtype=np.float32)
    if logits.ndim == 0 or logits.shape[-1] == 0:
        raise ValueError(f"logits of shape {logits.shape} given; give one logit or more in the last axis")
    largest = logits.max(axis=-1, keepdims=True)
    if not np.isfinite(largest).all():
        raise ValueError(
            "logits with NaN or plus infinity, or a row of minus infinities given; give at least one finite logit"
        )
    codes = encode(logits - largest if subtract_max else logits, fmt, rounding)
    cast = decode(codes, fmt).astype(np.float64)
    powers = np.exp(cast - cast.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float32)


class BatchNorm:
    """Batch normalisation at inference, in FP32: (x - mean) / sqrt(var + eps) * gamma + beta.

    x is (n, channels, ...). While `retune_bn` runs, the mean and variance of each batch are used instead of `mean` and
    `var`.
    """

    def __init__(
        self, mean: ArrayLike, var: ArrayLike, gamma: ArrayLike = 1.0, beta: ArrayLike = 0.0, eps: float = 1e-5
    ) -> None:
        """Raises ValueError if `mean` and `var` differ in shape from (channels,), or if a variance is below 0."""
        self.mean = np.asarray(mean, dtype=np.float32)
        self.var = np.asarray(var, dtype=np.float32)
        if self.mean.ndim != 1 or self.var.shape != self.mean.shape or not (self.var >= 0).all():
            raise ValueError(
                f"mean of shape {self.mean.shape} and var of {self.var.shape} given; give (channels,), var >= 0"
            )
        self.gamma = np.broadcast_to(np.asarray(gamma, dtype=np.float32), self.mean.shape)
        self.beta = np.broadcast_to(np.asarray(beta, dtype=np.float32), self.mean.shape)
        self.eps = eps
        self.collected: list[tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None

    def __call__(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the normalised batch, in the shape of x."""
        if x.ndim < 2 or x.shape[1] != self.mean.size:
            raise ValueError(f"x of shape {x.shape} given; give (n, {self.mean.size}, ...)")
        mean, var = self.mean, self.var
        if self.collected is not None:
            mean, var = self._collect(x)
        column = (slice(None), *(np.newaxis,) * (x.ndim - 2))
        factor = self.gamma / np.sqrt(var + np.float32(self.eps))
        return np.asarray((x - mean[column]) * factor[column] + self.beta[column], dtype=np.float32)

    def _collect(self, x: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        assert self.collected is not None
        axes, wide = (0, *range(2, x.ndim)), x.astype(np.float64)
        count = x.size // self.mean.size
        if count < 2:
            raise ValueError(
                f"a batch of shape {x.shape} given to collect statistics; give two values a channel or more"
            )
        mean, var = wide.mean(axis=axes), wide.var(axis=axes)
        self.collected.append((mean, var * count / (count - 1)))
        return mean.astype(np.float32), var.astype(np.float32)


def retune_bn(model: Callable[[ArrayLike], object], norms: Sequence[BatchNorm], batches: Batches) -> None:
    """Re-tune batch norms: replace their means and variances by values measured in 8-bit inference.

    `model` is called with batches of unlabelled training data, and computes as in inference (HFP8 section 3). The
    parameters gamma and beta do not change. To measure the means and variances, the HFP8 paper uses "2 % of a single
    epoch" of the training data. As torch does with momentum None, fp9 averages the means and the unbiased variances of
    all batches. While `retune_bn` runs, each batch norm normalises with the mean and variance of the current batch.

    `model` must call all batch norms in `norms`. After an error, the statistics are unchanged. Raises ValueError if
    there are no batches, if the model does not call a batch norm, or if values are not finite.
    """
    for norm in norms:
        norm.collected = []
    try:
        for batch in batches:
            model(batch)
        found = [_averages(number, norm) for number, norm in enumerate(norms)]
    finally:
        for norm in norms:
            norm.collected = None
    for norm, (mean, var) in zip(norms, found, strict=True):
        norm.mean, norm.var = mean, var


def _averages(number: int, norm: BatchNorm) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    if not norm.collected:
        raise ValueError(
            f"batch normalisation {number} has seen no batch; give batches, and norms that the model calls"
        )
    mean, var = (np.mean(values, axis=0) for values in zip(*norm.collected, strict=True))
    if not (np.isfinite(mean).all() and np.isfinite(var).all()):
        raise ValueError(f"batch normalisation {number} has seen infinities or NaN; look for an overflow before it")
    return mean.astype(np.float32), var.astype(np.float32)


def smooth(x: ArrayLike, w: ArrayLike, alpha: float = 0.5) -> NDArray[np.float32]:
    """Return factors s (in,) by which activations x (..., in) are divided to reduce their outliers.

    If x is divided by s and the weights w (out, in) are multiplied by s, the product is unchanged: (x / s) (w s)^T = x
    w^T. SmoothQuant defines the factor of channel j as s_j = max|x_j|^alpha / max|w_j|^(1 - alpha). The default for
    alpha is 0.5, as in SmoothQuant (Xiao et al., ICML 2023). If all activations or all weights of a channel are zero,
    the channel's factor is 1.

    Raises ValueError for shapes that do not match, an alpha outside 0..1, and numbers that are not finite.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha {alpha} given; give a number from 0 (weights stay) to 1 (activations are all alike)")
    activations, weights = (np.abs(np.asarray(as_numbers(t), dtype=np.float64)) for t in (x, w))
    if activations.ndim < 2 or weights.ndim != 2 or activations.shape[-1] != weights.shape[1]:
        raise ValueError(f"x of shape {activations.shape} and w of {weights.shape} given; give (..., in) and (out, in)")
    if not (np.isfinite(activations).all() and np.isfinite(weights).all()):
        raise ValueError("activations or weights with infinities or NaN given; give finite ones")
    outer = activations.reshape(-1, activations.shape[-1]).max(axis=0, initial=0.0)
    inner = weights.max(axis=0, initial=0.0)
    used = (outer > 0) & (inner > 0)
    factors = np.where(used, outer, 1.0) ** alpha / np.where(used, inner, 1.0) ** (1 - alpha)
    return factors.astype(np.float32)
