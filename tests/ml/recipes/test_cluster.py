"""Learners on the workers of a cluster give the bits of learners in one process."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fp9_ml.recipes import ClusterRing, Ring, RoundOff

distributed = pytest.importorskip("distributed")

RULE = RoundOff("hfp8_143", "dlfloat16")  # type: ignore[arg-type]
SIZE, LEARNERS = 11, 3


@dataclasses.dataclass
class Momentum:
    """An optimiser that remembers."""

    velocity: NDArray[np.float32] | None = None

    def __call__(self, gradient: NDArray[np.float32]) -> NDArray[np.float32]:
        old = np.zeros_like(gradient) if self.velocity is None else self.velocity
        self.velocity = np.float32(0.5) * old + gradient
        return np.float32(2**-5) * self.velocity


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def test_every_step_gives_the_codes_and_residuals_of_one_process(client: Any) -> None:
    rng = np.random.default_rng(8)
    start = rng.normal(size=SIZE)
    one, memories = Ring(RULE, start, LEARNERS), [Momentum() for _ in range(LEARNERS)]
    many = ClusterRing(client, RULE, start, LEARNERS, Momentum())
    for step in range(3):
        gradients = [rng.normal(size=SIZE).astype(np.float32) for _ in range(LEARNERS)]
        one.step(gradients, lambda learner, gradient: memories[learner](gradient))
        many.step(client.scatter(gradients) if step else gradients)
        for mine, theirs in zip(one.copies, client.gather(many.copies), strict=True):
            assert np.array_equal(mine, theirs)
        for mine, kept in zip(one.residuals, client.gather(many.owned), strict=True):
            assert mine is not None and np.array_equal(mine, kept[1])
    assert np.array_equal(one.weights, many.weights)
    assert not np.array_equal(one.weights, Ring(RULE, start, LEARNERS).weights)


def test_what_does_not_fit_is_told_and_moves_nothing(client: Any) -> None:
    ring = ClusterRing(client, RULE, np.ones(SIZE), LEARNERS, Momentum())
    before = ring.weights
    for gradients, told in (
        ([np.ones(SIZE)] * 2, "2 gradients given"),
        ([np.ones(3)] * LEARNERS, "shape"),
        ([np.full(SIZE, np.nan)] * LEARNERS, "infinity or NaN"),
    ):
        with pytest.raises(ValueError, match=told):
            ring.step(gradients)
        assert np.array_equal(ring.weights, before)
    with pytest.raises(ValueError, match="rounds to nearest"):
        ClusterRing(client, RoundOff("hfp8_143", rounding="sr"), np.ones(4), 2, Momentum())  # type: ignore[arg-type]
