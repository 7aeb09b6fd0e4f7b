"""Loss scaling: equal to torch's machine, and where the papers' sentences lead."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from fp9.formats import format
from fp9_ml.recipes import LOSSES, Adaptive, Backoff, Constant, LogMax, LossRule, LossScaler

E5M2 = format("e5m2")
RULES: list[LossRule] = [Constant(1000.0), Backoff(window=3), LogMax(1.0), Adaptive(windows=(1, 2, 4), window=2)]


def run(scaler: LossScaler, finite: list[bool], amaxes: list[float] | None = None) -> list[tuple[float, bool]]:
    """Scale of each step, and whether it was taken."""
    sizes = amaxes or [1.0] * len(finite)
    return [(scaler.scale, scaler.update(ok, size)) for ok, size in zip(finite, sizes, strict=True)]


# --- Backoff --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "growth, backoff, window, clean",
    [(2.0, 0.5, 3, 0.8), (2.0, 0.5, 20, 0.97), (1.7, 0.3, 2, 0.83), (4.0, 0.5, 1, 0.33)],
)
def test_backoff_equals_torch_on_500_random_updates(growth: float, backoff: float, window: int, clean: float) -> None:
    """Shares of clean steps at which the scale wanders about its start."""
    torch = pytest.importorskip("torch")
    theirs = torch.amp.GradScaler("cpu", 2.0**16, growth, backoff, window)
    ours = Backoff(2.0**16, growth, backoff, window).start(E5M2)
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    for finite in np.random.default_rng(window).random(500) < clean:
        before = weight.item()
        optimizer.zero_grad()
        theirs.scale((weight if finite else weight * math.inf).sum()).backward()
        theirs.step(optimizer)
        theirs.update()
        assert ours.update(bool(finite)) == (weight.item() != before) == finite
        assert ours.scale == theirs.get_scale()


def test_backoff_follows_the_documented_rule() -> None:
    """torch: x0.5 after a step with inf or NaN, which is skipped; x2 after `growth_interval` clean ones in a row."""
    steps = run(Backoff(8.0, window=2).start(E5M2), [True, True, True, False, True, True, True])
    assert steps == [(8, True), (8, True), (16, True), (16, False), (8, True), (8, True), (16, True)]


def test_backoff_does_not_grow_beyond_fp32_or_its_cap() -> None:
    assert run(Backoff(2.0**127, window=1).start(E5M2), [True, True])[-1][0] == 2.0**127
    assert run(Backoff(2.0**23, window=1, largest=2.0**24).start(E5M2), [True] * 4)[-1][0] == 2.0**24


def test_a_loss_that_is_never_finite_ends_in_a_sentence() -> None:
    scaler = Backoff(1.0).start(E5M2)
    with pytest.raises(ValueError, match="look for the first loss or gradient that is infinite or NaN"):
        run(scaler, [False] * 200)
    assert scaler.scale == 2.0**-149


# --- LogMax ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deviations", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("seed", [0, 1, 2, 11])
def test_logmax_lands_where_it_says(deviations: float, seed: int) -> None:
    """Noune et al. section 4: mu + c sigma = log2 of the largest number."""
    mu, sigma = -12.0, 1.5
    sizes = np.exp2(np.random.default_rng(seed).normal(mu, sigma, 6000)).tolist()
    scaler = LogMax(deviations, mean_decay=0.999, largest=2.0**60, power_of_two=False).start(E5M2)
    run(scaler, [True] * len(sizes), sizes)
    assert abs(math.log2(scaler.scale) - (math.log2(57344) - (mu + deviations * sigma))) < 0.15 + 0.1 * deviations


def test_logmax_rounds_down_to_a_power_of_two_within_its_range() -> None:
    for size, expected in ((2.0**-3.5, 2.0**19), (2.0**-40, 2.0**24), (2.0**20, 1.0)):
        scaler = LogMax(log_max=16.0).start(E5M2)
        assert scaler.update(True, size)
        assert scaler.scale == expected


def test_logmax_counts_an_overflow_as_the_largest_and_zeros_not_at_all() -> None:
    scaler = LogMax(log_max=16.0).start(E5M2)
    assert scaler.update(True, 0.0)
    assert scaler.state_dict()["steps"] == 0
    assert scaler.update(True, 0.25)
    assert not scaler.update(False, math.nan)
    assert scaler.moments[0] == pytest.approx((-2 * 0.99 + 16) / 1.99)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [None, math.inf, math.nan, -1.0])
def test_logmax_without_a_magnitude_is_one_sentence(size: float | None) -> None:
    with pytest.raises(ValueError, match="give the largest magnitude of the gradients"):
        LogMax().start(E5M2).update(True, size)


# --- Adaptive -------------------------------------------------------------------------------------------------------


def test_adaptive_starts_as_hif8_says() -> None:
    """HiF8 section 5.1: scale 2^32, window 20; three increases lead to window 50."""
    scaler = Adaptive().start(E5M2)
    scales = [scale for scale, _ in run(scaler, [True] * 61)]
    assert [scales.index(2.0**n) for n in (32, 33, 34, 35)] == [0, 20, 40, 60]
    assert scaler.window == 50  # type: ignore[attr-defined]


def test_three_decreases_in_a_row_lead_to_the_next_shorter_window() -> None:
    scaler = Adaptive(windows=(2, 4), window=4).start(E5M2)
    run(scaler, [False, False, True, True, True, True, False, False])
    assert scaler.window == 4  # type: ignore[attr-defined]
    run(scaler, [False])
    assert scaler.window == 2  # type: ignore[attr-defined]


def test_decreases_do_not_reset_the_count_of_increases() -> None:
    scaler = Adaptive(windows=(1, 5), window=1).start(E5M2)
    run(scaler, [True, False, True, False, True])
    assert scaler.window == 5  # type: ignore[attr-defined]


def test_adaptive_stays_at_one_or_above() -> None:
    scaler = Adaptive(start_scale=4.0).start(E5M2)
    run(scaler, [False] * 10)
    assert scaler.scale == 1.0


def vanished(scaler: LossScaler, steps: int) -> tuple[int, int]:
    """Steps that vanish and steps that are dropped, of gradients that fall from 2^-14 to 2^-24 within 200 steps."""
    lost = dropped = 0
    for step in range(steps):
        size = 2.0 ** (-14 - min(step, 200) / 20) * scaler.scale
        lost += size < E5M2.smallest
        dropped += not scaler.update(size <= E5M2.max)
    return lost, dropped


def test_adaptive_catches_up_with_falling_gradients_where_backoff_does_not() -> None:
    assert vanished(Backoff(1.0).start(E5M2), 3000)[0] > 2500
    assert vanished(Adaptive(1.0).start(E5M2), 3000)[0] < 400
    lost, dropped = vanished(Adaptive().start(E5M2), 3000)
    assert lost == 0
    assert dropped < 60


# --- all of them ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("stop", [0, 1, 5, 17])
def test_a_machine_goes_on_bit_for_bit_from_its_state(rule: LossRule, stop: int) -> None:
    rng = np.random.default_rng(stop)
    finite, sizes = (rng.random(40) < 0.6).tolist(), rng.lognormal(-5, 2, 40).tolist()
    whole, first, second = (rule.start(E5M2) for _ in range(3))
    expected = run(whole, finite, sizes)
    begun = run(first, finite[:stop], sizes[:stop])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert begun + run(second, finite[stop:], sizes[stop:]) == expected
    assert second.state_dict() == whole.state_dict()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_step_that_is_not_finite_is_dropped(rule: LossRule) -> None:
    assert not rule.start(E5M2).update(False, math.nan)


def test_every_rule_is_tried() -> None:
    assert {type(rule) for rule in RULES} == set(LOSSES.values())


def test_a_state_of_a_longer_window_grows_at_the_next_clean_step() -> None:
    long, short = Backoff(8.0, window=100).start(E5M2), Backoff(8.0, window=3).start(E5M2)
    run(long, [True] * 50)
    short.load_state_dict(long.state_dict())
    assert [scale for scale, _ in run(short, [True] * 4)] == [8.0, 16.0, 16.0, 16.0]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_counts_of_a_state_are_whole_numbers(rule: LossRule) -> None:
    scaler = rule.start(E5M2)
    good = scaler.state_dict()
    for name in good.keys() & {"clean", "steps", "place", "ups", "downs"}:
        for value in (-1, 0.5, "1", None, math.nan):
            with pytest.raises(ValueError, match="given"):
                scaler.load_state_dict(good | {name: value})
    assert scaler.state_dict() == good


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_state_that_does_not_fit_is_refused(rule: LossRule) -> None:
    scaler = rule.start(E5M2)
    good = scaler.state_dict()
    for bad in ({}, good | {"more": 1}, good | {"scale": 0.0}, good | {"scale": math.nan}, good | {"scale": "1"}):
        with pytest.raises(ValueError, match="given"):
            scaler.load_state_dict(bad)
    assert scaler.state_dict() == good
