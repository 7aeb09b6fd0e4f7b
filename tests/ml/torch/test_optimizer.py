"""Weights in 8 bits under an optimiser of torch: the rule of table 3, with a state that goes on bit for bit."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fp9  # noqa: E402
import fp9_ml.torch as ft  # noqa: E402
from fp9_ml.recipes import RoundOff  # noqa: E402

nn = torch.nn
RULE = RoundOff("hfp8_143", "dlfloat16")  # type: ignore[arg-type]


def made(rule: RoundOff = RULE, rate: float = 2**-6) -> tuple[Any, Any]:
    torch.manual_seed(5)
    layer = nn.Linear(4, 3)
    return layer, ft.RoundOffOptimizer(torch.optim.SGD(layer.parameters(), lr=rate, momentum=0.5), rule)


def take(layer: Any, optimizer: Any, step: int) -> None:
    optimizer.zero_grad()
    (layer(torch.full((2, 4), 0.5 + step)).square().mean()).backward()
    optimizer.step()


def test_weights_follow_the_rule_and_biases_the_optimiser() -> None:
    layer, optimizer = made()
    weights, residual = RULE.start(layer.weight.detach().numpy())
    velocity = np.zeros((3, 4), np.float32)
    for step in range(4):
        bias = layer.bias.detach().clone()
        take(layer, optimizer, step)
        velocity = np.float32(0.5) * velocity + layer.weight.grad.numpy()
        old = fp9.decode(weights, "hfp8_143").astype(np.float32)
        update = old - (old - np.float32(2**-6) * velocity)
        weights, residual = RULE.step(weights, residual, update)
        assert np.array_equal(layer.weight.detach().numpy(), fp9.decode(weights, "hfp8_143"))
        assert not torch.equal(layer.bias, bias)
    assert np.asarray(residual).any()


@pytest.mark.parametrize("rule", [RULE, RoundOff("hfp8_143", rounding="sr")], ids=["residual", "sr"])  # type: ignore[arg-type]
def test_a_run_goes_on_bit_for_bit_from_its_state(rule: RoundOff) -> None:
    layer, optimizer = made(rule)
    take(layer, optimizer, 0)
    state = copy.deepcopy((layer.state_dict(), optimizer.state_dict()))
    random = torch.get_rng_state()
    take(layer, optimizer, 1)
    other, again = made(rule)
    other.load_state_dict(state[0])
    again.load_state_dict(state[1])
    torch.set_rng_state(random)
    take(other, again, 1)
    assert torch.equal(other.weight, layer.weight)


def test_bad_gradients_states_and_parameters_are_told_before_anything_moves() -> None:
    layer, optimizer = made()
    before = layer.weight.detach().clone()
    layer.weight.grad = torch.full((3, 4), torch.nan)
    with pytest.raises(ValueError, match="infinity or NaN"):
        optimizer.step()
    assert torch.equal(layer.weight, before)
    with pytest.raises(ValueError, match="same weights and rule"):
        optimizer.load_state_dict({"optimizer": {}, "residuals": [None]})
    with pytest.raises(ValueError, match="weights of none"):
        ft.RoundOffOptimizer(torch.optim.SGD(layer.parameters(), lr=1.0), RULE, only=lambda p: False)
