"""Update rules for 8-bit weights, which compensate rounding errors or round stochastically.

Source: HFP8 (Sun et al., NeurIPS 2019), table 3. The HFP8 paper does not define with which precision the update and the
residual are subtracted from the weights. fp9 subtracts first the update and then the residual from the weights, both in
FP32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import as_codes, as_numbers, decode, encode
from fp9.formats import Format, format
from fp9.formats.rounding import Rounding, choice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class RoundOff:
    """Update rule that corrects each rounding error of 8-bit weights in the next update (HFP8 table 3).

    From the weights W and the residual R of the previous step, step t computes the unrounded weights `V_t = W_{t-1} -
    update - R_{t-1}`, with `R_0 = 0`. The new weights `W_t = Q_W(V_t)` are the unrounded weights `V_t`, rounded to the
    weight format. The residual `R_t = Q_R(W_t - V_t)` is the rounding error `W_t - V_t` of the weights, rounded to the
    residual format.

    `weights` is the format of the weights W. `residual` is the number format of the residual R. The HFP8 paper requires
    a residual format with a higher precision than the weight format, and uses the 16-bit format 1-6-9. If `residual` is
    None, the rounding error is lost. If `rounding` is None, the format's default rounding applies. Stochastic rounding
    ("sr") uses the random generator that the caller passes to `step`.
    """

    weights: Format
    residual: Format | None = None
    rounding: Rounding | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", format(self.weights))
        object.__setattr__(self, "residual", None if self.residual is None else format(self.residual))
        if self.rounding is not None:
            object.__setattr__(self, "rounding", choice(Rounding, self.rounding, "rounding"))
            if self.rounding.reads_source or not self.weights.offers(self.rounding):
                raise ValueError(f"rounding {self.rounding.value} given for weights; give one that every format offers")
        for fmt in (self.weights, self.residual):
            if fmt is not None and not fmt.signed:
                raise ValueError(f"{fmt.name} given for weights or residuals; give a format with a sign")

    def start(
        self, numbers: ArrayLike, random: np.random.Generator | None = None
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the codes of the initial weights, and a residual of zeros, both in the shape of `numbers`.

        The residual is None if the update rule uses no residual.
        """
        codes = self._codes(np.asarray(as_numbers(numbers), dtype=np.float32), random)
        residual = None if self.residual is None else encode(np.zeros(codes.shape, np.float32), self.residual)
        return codes, residual

    def step(
        self,
        weights: ArrayLike,
        residual: ArrayLike | None,
        update: ArrayLike,
        random: np.random.Generator | None = None,
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Subtract `update` from the weights. Return the new codes of the weights and of the residual.

        `update` holds FP32 numbers, in the shape of the weights. Raises ValueError for shapes that do not match, a
        missing or unneeded residual, and stochastic rounding without `random`. Raises ValueError for an update with an
        infinity or NaN; the caller must then skip the training step.
        """
        codes = as_codes(weights, self.weights)
        change = np.asarray(as_numbers(update), dtype=np.float32)
        if change.shape != codes.shape:
            raise ValueError(f"update of shape {change.shape} given; give that of the weights, {codes.shape}")
        if not np.isfinite(change).all():
            raise ValueError("an update with an infinity or NaN given; skip the step, as a loss scaler does")
        wanted = decode(codes, self.weights).astype(np.float32) - change
        if self.residual is not None:
            wanted -= decode(self._residual(residual, codes.shape), self.residual).astype(np.float32)
        elif residual is not None:
            raise ValueError("a residual given to an update that keeps none; give None")
        rounded = self._codes(wanted, random)
        if self.residual is None:
            return rounded, None
        error = decode(rounded, self.weights).astype(np.float32) - wanted
        return rounded, np.asarray(encode(error, self.residual))

    def _residual(self, residual: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[Any]:
        assert self.residual is not None
        if residual is None:
            raise ValueError("no residual given; give the codes of the last step, at first those of start")
        codes = as_codes(residual, self.residual)
        if codes.shape != shape:
            raise ValueError(f"residual of shape {codes.shape} given; give that of the weights, {shape}")
        return codes

    def _codes(self, numbers: NDArray[np.float32], random: np.random.Generator | None) -> NDArray[Any]:
        mode = self.rounding or self.weights.default_rounding
        if mode.needs_bits and random is None:
            raise ValueError("stochastic rounding of weights needs random: give a numpy Generator")
        return np.asarray(encode(numbers, self.weights, mode, rng=random if mode.needs_bits else None))
