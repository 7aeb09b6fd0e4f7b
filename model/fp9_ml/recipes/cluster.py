"""Ring of data-parallel learners on the workers of a Dask cluster.

The results are bit-identical to the results of `Ring`, which runs in one process. The module needs the extra
fp9[cluster].
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode
from fp9.formats import Format
from fp9_ml.recipes.ring import added, hop_format, reduced, route, share, slices
from fp9_ml.recipes.updates import RoundOff

if TYPE_CHECKING:
    from distributed import Client
    from numpy.typing import ArrayLike, NDArray

Optimizer = Callable[["NDArray[np.float32]"], "NDArray[np.float32]"]
"""Function from the reduced gradients of a learner's weights to the update of these weights."""
_Owned = tuple["NDArray[Any]", "NDArray[Any] | None", Optimizer]


class ClusterRing:
    """Ring of data-parallel learners that run on the workers of a `distributed.Client`.

    Every learner has a separate copy of `optimizer`. Raises ValueError for a cluster without workers, and for all
    arguments that `Ring` refuses. Raises ValueError for stochastic rounding, because all random bits must come from one
    process.
    """

    def __init__(
        self,
        client: Client,
        rule: RoundOff,
        weights: ArrayLike,
        learners: int,
        optimizer: Optimizer,
        hop: Format | str = "dlfloat16",
        mean: bool = True,
    ) -> None:
        if (rule.rounding or rule.weights.default_rounding).needs_bits:
            raise ValueError("stochastic rounding given for a ring on workers; give a rule that rounds to nearest")
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise ValueError("a cluster without workers given; start one worker or more")
        codes, residual = rule.start(weights)
        if codes.ndim != 1:
            raise ValueError(f"weights of shape {codes.shape} given; give them as one vector")
        self.rule, self.hop, self.mean = rule, hop_format(hop), mean
        self.parts = slices(codes.size, learners)
        self._client, self._workers = client, [workers[n % len(workers)] for n in range(learners)]
        self.owned = [
            self._at(n, _owned, codes[part], None if residual is None else residual[part], optimizer)
            for n, part in enumerate(self.parts)
        ]
        self.copies = [self._at(n, np.copy, codes) for n in range(learners)]

    def _at(self, learner: int, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, workers=[self._workers[learner]], pure=False)

    @property
    def weights(self) -> NDArray[np.float32]:
        """Return the weights (size,) in FP32."""
        return decode(self.copies[0].result(), self.rule.weights).astype(np.float32)

    def step(self, gradients: Sequence[Any]) -> None:
        """Take one training step with all learners, and wait for its end.

        `gradients` are N arrays (size,) or futures. Raises ValueError as `Ring.step` does. After an error, the state is
        unchanged.
        """
        learners = len(self.parts)
        if len(gradients) != learners:
            raise ValueError(f"{len(gradients)} gradients given; give one for each of the {learners} learners")
        size = self.parts[-1].stop
        shares = [self._at(n, _share, gradient, self.hop, size) for n, gradient in enumerate(gradients)]
        owned = []
        for owner, part in enumerate(self.parts):
            first, *others = route(owner, learners)
            total = self._at(first, _part, shares[first], part)
            for learner in others:
                total = self._at(learner, _added, total, shares[learner], part, self.hop)
            divisor = learners if self.mean else 1
            owned.append(self._at(owner, _updated, self.owned[owner], total, self.rule, self.hop, divisor))
        codes = [self._at(n, _codes, kept) for n, kept in enumerate(owned)]
        copies = [self._at(n, _joined, codes) for n in range(learners)]
        for future in copies:
            future.result()
        self.owned, self.copies = owned, copies


# --- what runs at a worker -------------------------------------------------------------------------------------------


def _owned(codes: NDArray[Any], residual: NDArray[Any] | None, optimizer: Optimizer) -> _Owned:
    return codes, residual, optimizer


def _share(gradient: ArrayLike, hop: Format, size: int) -> NDArray[Any]:
    found = share(gradient, hop)
    if found.shape != (size,):
        raise ValueError(f"a gradient of shape {found.shape} given; give one of shape ({size},) a learner")
    return found


def _part(codes: NDArray[Any], part: slice) -> NDArray[Any]:
    return codes[part]


def _added(total: NDArray[Any], codes: NDArray[Any], part: slice, hop: Format) -> NDArray[Any]:
    return added(total, codes[part], hop)


def _updated(kept: _Owned, total: NDArray[Any], rule: RoundOff, hop: Format, divisor: int) -> _Owned:
    # The old optimiser is not changed, so that the training step can be undone if another worker fails.
    codes, residual, optimizer = kept
    optimizer = copy.deepcopy(optimizer)
    new, left = rule.step(codes, residual, optimizer(reduced(total, hop, divisor)))
    return new, left, optimizer


def _codes(kept: _Owned) -> NDArray[Any]:
    return kept[0]


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts)
