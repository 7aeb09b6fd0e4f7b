"""Ring of data-parallel learners in one process (HFP8, Sun et al., NeurIPS 2019, table 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import as_codes, as_numbers, decode, encode
from fp9.engines import Engine, Result
from fp9.formats import Format, format
from fp9.sums.products import dot
from fp9_ml.recipes.state import State, check_keys
from fp9_ml.recipes.updates import RoundOff

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MAX_HOP_BITS = 16
"""Maximum width in bits of the format in which learners exchange gradients."""


def reduce_scatter(gradients: Sequence[ArrayLike], hop: Format | str = "dlfloat16") -> list[NDArray[Any]]:
    """Add the gradients (size,) of all learners hop by hop around a ring (reduce-scatter).

    The gradient is divided into N slices, one for each of the N learners. Return each slice's sum over all learners, as
    codes in the format `hop`. The sum of slice i starts at learner i + 1, passes all learners of the ring in turn, and
    ends at learner i. Each learner adds slice i of its own gradient to the sum, and rounds the sum to the number format
    `hop`.

    Raises ValueError if the gradients have different shapes or fewer elements than learners, or if the number format
    `hop` has more than 16 bits.
    """
    fmt = hop_format(hop)
    shares = [share(g, fmt) for g in gradients]
    if not shares or shares[0].ndim != 1 or any(s.shape != shares[0].shape for s in shares):
        raise ValueError(f"gradients of shapes {[s.shape for s in shares]} given; give one of shape (size,) a learner")
    sums = []
    for owner, part in enumerate(slices(shares[0].size, len(shares))):
        first, *others = route(owner, len(shares))
        total = shares[first][part]
        for learner in others:
            total = added(total, shares[learner][part], fmt)
        sums.append(total)
    return sums


def hop_format(hop: Format | str) -> Format:
    fmt = format(hop)
    if fmt.bits > MAX_HOP_BITS:
        raise ValueError(
            f"{fmt.name} given for the hops of a ring; give a format of 16 bits, such as dlfloat16 or fp16"
        )
    return fmt


def route(owner: int, learners: int) -> list[int]:
    return [(owner + hops) % learners for hops in range(1, learners + 1)]


def share(gradient: ArrayLike, fmt: Format) -> NDArray[Any]:
    return np.asarray(encode(np.asarray(as_numbers(gradient), np.float32), fmt, overflow="inf"))


def added(a: NDArray[Any], b: NDArray[Any], fmt: Format) -> NDArray[Any]:
    # Each sum is a fused multiply-add a x 1 + b, which rounds once.
    engine = Engine("hop", Result(fmt, fmt.default_rounding))  # type: ignore[arg-type]
    one = encode(np.ones((1, 1), np.float32), fmt)
    return np.asarray(dot(a[:, np.newaxis], one, fmt, fmt, engine, c=b, format_c=fmt))


def reduced(codes: NDArray[Any], fmt: Format, divisor: int) -> NDArray[np.float32]:
    return decode(codes, fmt).astype(np.float32) / np.float32(divisor)


def slices(size: int, learners: int) -> list[slice]:
    """Return one slice of the weights for each learner, with sizes that differ by at most one."""
    if not 1 <= learners <= size:
        raise ValueError(
            f"{learners} learners and {size} weights given; give 1 learner to as many as there are weights"
        )
    ends = [size * n // learners for n in range(learners + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


Optimizer = Callable[[int, "NDArray[np.float32]"], "NDArray[np.float32]"]
"""Function from a learner's number and gradients to the updates of the learner's weights."""


class Ring:
    """Ring of N data-parallel learners in one process that share 8-bit weights (HFP8 table 2).

    In a training step, the learners first add their gradients in the format `hop`, by default the 16-bit format 1-6-9.
    Each learner then updates its own slice, 1/N of the weights. Finally, all learners exchange the new weight codes.
    The paper does not define two details. In fp9, the sum of the gradients is rounded after each addition. If `mean` is
    true, the final sum of the gradients is divided by the number of learners, in FP32.
    """

    def __init__(
        self, rule: RoundOff, weights: ArrayLike, learners: int, hop: Format | str = "dlfloat16", mean: bool = True
    ) -> None:
        """Create `learners` data-parallel learners, each with a copy of the initial weights (size,)."""
        self.rule, self.hop, self.mean = rule, hop_format(hop), mean
        codes, residual = rule.start(weights)
        if codes.ndim != 1:
            raise ValueError(f"weights of shape {codes.shape} given; give them as one vector")
        self.parts = slices(codes.size, learners)
        self.copies = [codes.copy() for _ in self.parts]
        self.residuals = [None if residual is None else residual[part] for part in self.parts]

    @property
    def weights(self) -> NDArray[np.float32]:
        """Return the weights (size,) in FP32."""
        return decode(self.copies[0], self.rule.weights).astype(np.float32)

    def step(
        self, gradients: Sequence[ArrayLike], optimizer: Optimizer, random: np.random.Generator | None = None
    ) -> None:
        """Take one training step with a gradient (size,) from each of the N learners.

        Raises ValueError for gradients of different shapes, or updates that are not finite. After an error, the state
        is unchanged.
        """
        if len(gradients) != len(self.parts):
            raise ValueError(f"{len(gradients)} gradients given; give one for each of the {len(self.parts)} learners")
        owned, residuals = [], []
        for learner, codes in enumerate(reduce_scatter(gradients, self.hop)):
            gradient = reduced(codes, self.hop, len(self.parts) if self.mean else 1)
            old = self.copies[learner][self.parts[learner]]
            new, residual = self.rule.step(old, self.residuals[learner], optimizer(learner, gradient), random)
            owned.append(new)
            residuals.append(residual)
        gathered = np.concatenate(owned)
        self.copies = [gathered.copy() for _ in self.parts]
        self.residuals = residuals

    @property
    def bytes_per_weight(self) -> float:
        """Return the number of bytes per weight that a learner sends in one training step."""
        share = (len(self.parts) - 1) / len(self.parts)
        return share * (self.hop.bits + self.rule.weights.bits) / 8

    def state_dict(self) -> State:
        """Return the codes of the weights and residuals as lists, for `json.dumps`."""
        return {
            "weights": self.copies[0].tolist(),
            "residuals": [None if r is None else r.tolist() for r in self.residuals],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `state_dict` returned.

        Raises ValueError if the state has another number of weights or learners than this `Ring`.
        """
        check_keys(state, ("weights", "residuals"), "a ring")
        codes = as_codes(np.asarray(state["weights"]), self.rule.weights)
        fmt = self.rule.residual
        residuals = [None if r is None or fmt is None else as_codes(np.asarray(r), fmt) for r in state["residuals"]]
        sizes = [self.copies[0][part].size if fmt is not None else None for part in self.parts]
        if codes.shape != self.copies[0].shape or [None if r is None else r.size for r in residuals] != sizes:
            raise ValueError(
                f"state of {codes.size} weights and {len(residuals)} learners given; load a state of this ring"
            )
        self.copies, self.residuals = [codes.copy() for _ in self.parts], residuals
