"""Algorithm 1 on a model of torch: the pairs of the NumPy search, in the layers and in their state."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fp9_ml.torch as ft  # noqa: E402
from fp9_ml.recipes import Linear, calibrate  # noqa: E402

nn = torch.nn
RECIPE = "hif8(scale=searched,last=none)"


def model() -> torch.nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 3))


def test_a_chain_has_the_pairs_of_the_numpy_search_and_keeps_them() -> None:
    plain, data = model(), 20 * torch.randn(40, 6)
    layers = [
        Linear(m.weight.detach().numpy(), m.bias.detach().numpy(), lambda y: np.maximum(y, 0)) for m in plain[::2]
    ]
    expected = calibrate(layers, data.numpy(), activations=range(-2, 3), weights=range(-2, 3))
    converted = ft.convert(model(), RECIPE)
    found = ft.calibrate(converted, data.split(16), range(-2, 3), range(-2, 3))
    assert list(found) == ["0", "2", "4"] and list(found.values()) == expected
    assert any(pair.activation or pair.weight for pair in expected)
    assert converted.training and all(layer.instead is None for layer in converted[::2])
    again = ft.convert(model(), RECIPE)
    again.load_state_dict(converted.state_dict())
    assert torch.equal(again(data), converted(data))
    assert not torch.equal(ft.convert(model(), RECIPE)(data), converted(data))


def test_groups_of_a_convolution_have_pairs_of_their_own() -> None:
    torch.manual_seed(4)
    found = ft.calibrate(
        ft.convert(nn.Conv2d(2, 4, 3, groups=2), "hif8(scale=searched,last=none)"),
        [torch.randn(2, 2, 5, 5)],
        [0, 3],
        [0],
    )
    assert set(found) == {".0", ".1"}


def test_what_cannot_be_calibrated_is_told_and_leaves_the_model_as_it_was() -> None:
    converted = ft.convert(model(), RECIPE)
    before = converted(torch.ones(2, 6))
    twice = nn.Sequential(nn.Linear(3, 3))
    twice.append(twice[0])
    for given, batches, told in (
        (converted, [], "0 batches"),
        (ft.convert(model(), "hif8"), [torch.ones(2, 6)], "0 layers"),
        (converted, [torch.full((2, 6), torch.inf)], "infinities or NaN"),
        (ft.convert(twice, RECIPE), [torch.ones(2, 3)], "called twice"),
    ):
        with pytest.raises(ValueError, match=told):
            ft.calibrate(given, batches)
    assert torch.equal(converted(torch.ones(2, 6)), before) and converted.training
