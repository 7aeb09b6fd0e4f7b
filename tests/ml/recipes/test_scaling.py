"""Scales of tensors against the sentences of their sources, in exact fractions."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fp9.formats import format
from fp9_ml.recipes import SCALES, Current, Delayed, Fixed, Periodic, Scaler, ScaleRule, Searched, amax, recipe
from fp9_ml.recipes.scaling import FP32_MAX, factor_onto

E4M3, HIF8 = format("e4m3"), format("hif8")
MAGNITUDES = st.floats(min_value=2.0**-126, max_value=FP32_MAX, width=32)
RULES: list[ScaleRule] = [
    Fixed(3),
    Current(),
    Current(True, 1),
    Delayed(4),
    Delayed(4, 1, "most_recent", False),
    Periodic(3),
    Searched(),
]


@settings(deadline=None)
@given(MAGNITUDES, st.sampled_from([8.0, 448.0, 57344.0, 30.0]))
def test_a_power_of_two_brings_amax_into_the_upper_half_below_the_top(largest: float, top: float) -> None:
    factor = factor_onto(top, largest, power_of_two=True)
    assert factor is not None and math.frexp(factor)[0] == 0.5
    scaled = Fraction(largest) * Fraction(factor)
    assert scaled <= top
    assert 2 * scaled > top or factor == 2.0**127


@settings(deadline=None)
@given(MAGNITUDES)
def test_transformer_engines_factor_is_the_fp32_quotient(largest: float) -> None:
    with np.errstate(over="ignore"):
        quotient = np.float32(448) / np.float32(largest)
    assert factor_onto(448.0, largest, power_of_two=False) == min(float(quotient), FP32_MAX)


@pytest.mark.parametrize("power_of_two", [False, True])
@pytest.mark.parametrize("largest", [0.0, math.inf, 1e300])
def test_an_amax_of_zero_or_beyond_fp32_gives_no_factor(largest: float, power_of_two: bool) -> None:
    assert factor_onto(448.0, largest, power_of_two) is None


def test_amax_leaves_nan_out_and_counts_infinities() -> None:
    assert amax([1.0, -3.0, np.nan]) == 3.0
    assert amax([np.nan]) == amax([]) == amax(np.zeros((2, 2))) == 0.0
    assert amax([-np.inf, 1.0]) == math.inf
    assert amax(np.array([-128, 3], dtype=np.int8)) == 128.0


def factors(scaler: Scaler, amaxes: list[float]) -> list[float]:
    return [scaler.step(np.array([a, -a / 2], dtype=np.float32)) for a in amaxes]


@settings(max_examples=50, deadline=None)
@given(st.lists(MAGNITUDES, max_size=12), st.integers(1, 5), st.sampled_from(["max", "most_recent"]))
def test_a_delayed_factor_sees_the_last_steps_and_not_its_own(amaxes: list[float], history: int, algo: str) -> None:
    """Transformer Engine: step t uses the amaxes of t-L..t-1; the first step has scale 1."""
    given_factors = factors(Delayed(history, algo=algo).start(E4M3), amaxes)
    for t, factor in enumerate(given_factors):
        past = amaxes[max(0, t - history) : t]
        expected = factor_onto(448.0, max(past) if algo == "max" else past[-1], True) if past else 1.0
        assert factor == expected


def test_a_delayed_factor_stays_where_the_history_says_nothing() -> None:
    """Transformer Engine keeps the scale where amax is 0 or not finite."""
    assert factors(Delayed(1).start(E4M3), [448.0 / 8, 0.0, np.inf, np.nan, 1.0]) == [1.0, 8.0, 8.0, 8.0, 8.0]


def test_margin_halves_the_factor() -> None:
    (_, plain), (_, with_margin) = (factors(Delayed(margin=m).start(E4M3), [3.0, 3.0]) for m in (0, 2))
    assert plain == 4 * with_margin == 128.0


def test_a_current_factor_of_zeros_and_infinities_is_one() -> None:
    assert factors(Current().start(E4M3), [2.0, 0.0, np.inf]) == [224.0, 1.0, 1.0]


def test_hif8_factors_start_at_one_and_change_every_ten_steps() -> None:
    """HiF8 section 5.1; amax comes into (4, 8], at the top of the 3-bit zone."""
    amaxes = [2.0 ** (-n / 3) for n in range(45)]
    got = factors(Periodic().start(HIF8), amaxes)
    assert got[:10] == [1.0] * 10
    assert all((a == b) or t % 10 == 0 for t, (a, b) in enumerate(pairwise(got), 1))
    assert all(4 < amaxes[t] * got[t] <= 8 for t in (10, 20, 30, 40))


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("stop", [0, 1, 3, 7])
def test_a_machine_goes_on_bit_for_bit_from_its_state(rule: ScaleRule, stop: int) -> None:
    amaxes = np.random.default_rng(0).lognormal(0, 3, 12).tolist()
    whole, first, second = (rule.start(E4M3) for _ in range(3))
    expected = factors(whole, amaxes)
    begun = factors(first, amaxes[:stop])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert begun + factors(second, amaxes[stop:]) == expected


def test_every_rule_is_tried() -> None:
    assert {type(rule) for rule in RULES} == set(SCALES.values())


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    long, short = Delayed(5).start(E4M3), Delayed(2).start(E4M3)
    factors(long, [1.0, 2.0, 3.0])
    before = short.state_dict()
    for state in (
        long.state_dict(),
        Periodic().start(E4M3).state_dict(),
        before | {"history": "x"},
        before | {"last": "1"},
    ):
        with pytest.raises(ValueError, match=r"given"):
            short.load_state_dict(state)
        assert short.state_dict() == before


def test_a_shorter_history_is_taken_as_far_as_it_goes() -> None:
    short, long = Delayed(2).start(E4M3), Delayed(1024).start(E4M3)
    factors(short, [7.0, 1.0])
    long.load_state_dict(short.state_dict())
    assert factors(long, [1.0]) == [64.0]


@pytest.mark.parametrize(
    "text",
    [
        "fixed(exponent=128)",
        "delayed(history=0)",
        "delayed(algo=mean)",
        "periodic(interval=0)",
        "periodic(top=-1)",
        "max",
    ],
)
def test_a_rule_that_cannot_be_is_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"given|not known"):
        recipe(f"hif8(scale={text})")
