"""Weights in 8 bits: table 3 of HFP8 term by term in fractions, and the ring against its stated roundings."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import fp9
from fp9.formats import Format, format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Overflow
from fp9.oracle import casts as oracle
from fp9_ml.recipes import Ring, RoundOff, reduce_scatter
from fp9_ml.recipes.ring import slices

W143, R169 = format("hfp8_143"), format("dlfloat16")
FP32 = format("fp32")
TABLE3 = RoundOff("hfp8_143", "dlfloat16")


def exact(fmt: Format, x: Fraction | float, overflow: Overflow = Overflow.SATURATE) -> int:
    """One number rounded by the oracle."""
    return oracle.encode(oracle.exact(Fraction(x)), fmt, CastPolicy(overflow=overflow))[0]


def fp32(x: Fraction) -> Fraction:
    return FP32.value_of(exact(FP32, x))


# --- the round-off residual update ----------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 126), st.integers(0, 0x7FFD), st.floats(-4, 4, width=32))
def test_table_3_in_fractions(weight: int, residual: int, update: float) -> None:
    """W^ = W - a g - R; W_t = Q_W(W^); R_t = Q_R(W_t - W^), the differences in FP32."""
    w, r = W143.value_of(weight), R169.value_of(residual)
    wanted = fp32(fp32(w - Fraction(update)) - r)
    expected = exact(W143, wanted)
    error = fp32(W143.value_of(expected) - wanted)
    codes, errors = TABLE3.step([weight], [residual], np.float32([update]))
    assert codes.tolist() == [expected]
    assert errors is not None
    assert errors.tolist() == [exact(R169, error)]


def test_updates_too_small_for_a_weight_add_up_in_the_residual() -> None:
    """Sixteen updates of 1/16 ulp move a weight by one ulp; without a residual it never moves."""
    w, r = TABLE3.start([1.0])
    plain = RoundOff("hfp8_143")
    still, nothing = plain.start([1.0])
    for _ in range(16):
        w, r = TABLE3.step(w, r, [2.0**-7])
        still, nothing = plain.step(still, nothing, [2.0**-7])
    assert fp9.decode(w, W143).tolist() == [0.875]
    assert fp9.decode(still, W143).tolist() == [1.0]
    assert nothing is None


def test_stochastic_rounding_moves_weights_by_their_mean() -> None:
    rule = RoundOff("hfp8_143", rounding="sr")  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    codes, _ = rule.start(np.ones(20_000), rng)
    codes, _ = rule.step(codes, None, np.full(20_000, 1 / 64), rng)
    mean = fp9.decode(codes, W143).astype(np.float64).mean()
    assert abs(mean - (1 - 1 / 64)) < 4 * (1 / 16) * 0.5 / np.sqrt(20_000)


@pytest.mark.parametrize(
    "rule, args, sentence",
    [
        (TABLE3, ([0], [0], [np.inf]), "skip the step"),
        (TABLE3, ([0], [0], [0.0, 1.0]), "give that of the weights"),
        (TABLE3, ([0], None, [0.0]), "no residual given"),
        (TABLE3, ([0], [0, 0], [0.0]), "residual of shape"),
        (RoundOff("hfp8_143"), ([0], [0], [0.0]), "keeps none"),
        (RoundOff("hfp8_143", rounding="sr"), ([0], None, [0.0]), "give a numpy Generator"),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_is_one_sentence(rule: RoundOff, args: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        rule.step(*args)  # type: ignore[arg-type]


def test_rules_that_cannot_be_are_refused() -> None:
    for fields in ({"rounding": "hybrid"}, {"residual": "e8m0"}, {"rounding": "up"}):
        with pytest.raises(ValueError, match=r"given|ambiguous"):
            RoundOff("hif8", **fields)  # type: ignore[arg-type]


# --- the ring -------------------------------------------------------------------------------------------------------


def shares(learners: int, size: int, seed: int) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    return [rng.normal(0, 2.0 ** rng.integers(-8, 8), size).astype(np.float32) for _ in range(learners)]


@pytest.mark.parametrize("learners, size, seed", [(1, 5, 0), (2, 9, 1), (4, 37, 2), (5, 41, 3)])
def test_a_sum_is_rounded_at_every_hop(learners: int, size: int, seed: int) -> None:
    given_shares = shares(learners, size, seed)
    sums = reduce_scatter(given_shares)
    for owner, part in enumerate(slices(size, learners)):
        for place in range(part.start, part.stop):
            total = Fraction(0)
            for hops in range(1, learners + 1):
                own = R169.value_of(exact(R169, float(given_shares[(owner + hops) % learners][place])))
                total = R169.value_of(exact(R169, total + own))
            assert R169.value_of(int(sums[owner][place - part.start])) == total


def descent(learner: int, gradient: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.float32(0.1) * gradient


def test_one_learner_is_the_residual_update() -> None:
    start = np.random.default_rng(4).normal(0, 0.3, 50)
    ring = Ring(TABLE3, start, learners=1)
    codes, residual = TABLE3.start(start)
    for seed in range(10):
        gradient = shares(1, 50, seed)[0]
        ring.step([gradient], descent)
        rounded = fp9.decode(fp9.encode(gradient, "dlfloat16", overflow="inf"), "dlfloat16")
        codes, residual = TABLE3.step(codes, residual, descent(0, rounded))
        assert np.array_equal(ring.copies[0], codes)
        assert np.array_equal(ring.residuals[0], residual)


def test_all_learners_hold_the_same_codes_and_send_three_quarters() -> None:
    """HFP8 table 2: 2 + 1 bytes for each weight in place of 2 + 2."""
    ring = Ring(TABLE3, np.linspace(-1, 1, 30), learners=4)
    for seed in range(5):
        ring.step(shares(4, 30, seed), descent)
        assert all(np.array_equal(copy, ring.copies[0]) for copy in ring.copies)
    assert ring.bytes_per_weight == 3 / 4 * (2 + 1)


def test_a_ring_goes_on_bit_for_bit_from_its_state() -> None:
    start = np.linspace(-1, 1, 30)
    whole, first, second = (Ring(TABLE3, start, learners=3) for _ in range(3))
    for seed in range(8):
        whole.step(shares(3, 30, seed), descent)
    for seed in range(5):
        first.step(shares(3, 30, seed), descent)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for seed in range(5, 8):
        second.step(shares(3, 30, seed), descent)
    assert second.state_dict() == whole.state_dict()


def test_a_step_that_fails_moves_nothing() -> None:
    ring = Ring(TABLE3, np.linspace(-1, 1, 6), learners=2)
    before = ring.state_dict()
    wrong = shares(2, 6, 0)
    wrong[1][5] = np.inf
    for gradients in (wrong, shares(3, 6, 0), shares(2, 7, 0)):
        with pytest.raises(ValueError, match="given"):
            ring.step(gradients, descent)
        assert ring.state_dict() == before


def test_rings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="give 1 learner to as many"):
        Ring(TABLE3, np.ones(3), learners=4)
    with pytest.raises(ValueError, match="as one vector"):
        Ring(TABLE3, np.ones((3, 3)), learners=2)
    with pytest.raises(ValueError, match="a format of 16 bits"):
        Ring(TABLE3, np.ones(4), learners=2, hop="fp32")
    with pytest.raises(ValueError, match="a format of 16 bits"):
        reduce_scatter(shares(2, 4, 0), hop="fp32")
    with pytest.raises(ValueError, match="load a state of this ring"):
        Ring(TABLE3, np.ones(6), learners=2).load_state_dict(Ring(TABLE3, np.ones(6), learners=3).state_dict())
