"""Batch norms tuned again: torch's own cumulative averages, in the precision of inference, and nothing else moves."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fp9_ml.torch as ft  # noqa: E402

nn = torch.nn


def network() -> Any:
    """A converted network with two batch norms and a dropout."""
    torch.manual_seed(3)
    layers = (nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(64, 6))
    return ft.convert(nn.Sequential(*layers, nn.BatchNorm1d(6, momentum=0.3)), "te_delayed")


def batches(count: int = 3) -> list[Any]:
    """Images."""
    rng = np.random.default_rng(4)
    return [torch.from_numpy(rng.normal(1, 2, (8, 1, 6, 6)).astype(np.float32)) for _ in range(count)]


def test_statistics_are_torchs_own_update_of_a_model_without_dropout_and_with_scales_at_rest() -> None:
    model = network()
    model(batches()[0])
    expected = copy.deepcopy(model)
    expected[3] = nn.Identity()
    for layer in (expected[0], expected[5]):
        layer.train = lambda mode=True, layer=layer: layer  # scales stay where they are, as in inference
        layer.training = False
    torch.optim.swa_utils.update_bn(batches(), expected)
    scales = copy.deepcopy(model[0].get_extra_state())
    ft.retune_bn(model, batches())
    for place in (1, 6):
        assert torch.equal(model[place].running_mean, expected[place].running_mean)
        assert torch.equal(model[place].running_var, expected[place].running_var)
    assert model[0].get_extra_state() == scales
    assert [m.training for m in model] == [True] * 7 and model[6].momentum == 0.3


def test_statistics_stay_where_anything_fails() -> None:
    model = network()
    before = copy.deepcopy(model.state_dict())
    infinite = [torch.full((8, 1, 6, 6), torch.nan)]
    for bad, told in (([], "no batches"), (infinite, "infinities or NaN")):
        with pytest.raises(ValueError, match=told):
            ft.retune_bn(model, bad)
        for name in ("1.running_mean", "6.running_var", "6.num_batches_tracked"):
            assert torch.equal(model.state_dict()[name], before[name])
    assert model.training
    with pytest.raises(ValueError, match="nothing to tune"):
        ft.retune_bn(nn.Linear(2, 2), batches())
