"""Conversion of models, and loss scaling: parameters stay, places count, the scales are torch's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fp9_ml.torch as ft  # noqa: E402
from fp9.formats import format  # noqa: E402
from fp9_ml.recipes import recipe  # noqa: E402

nn = torch.nn


def network() -> Any:
    """A small network with every kind of place."""
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.Conv2d(4, 4, 3, groups=4),
        nn.Conv2d(4, 6, 1),
        nn.Flatten(),
        nn.ReLU(),
        nn.Linear(96, 8),
        nn.Linear(8, 3),
    )


def formats(model: Any) -> list[str]:
    """The formats of the weights of all converted layers."""
    return [m.recipe.weights.name for m in model.modules() if isinstance(m, ft.Linear | ft.Conv2d)]


def test_places_have_the_formats_that_the_recipe_has_for_them() -> None:
    eight = recipe("hfp8").weights.name
    assert formats(ft.convert(network(), "hfp8")) == ["dlfloat16", "dlfloat16", eight, eight, "dlfloat16"]
    hif8 = ft.convert(network(), "hif8")
    assert formats(hif8) == ["hif8"] * 4 + [format("fp16").name]


def test_parameters_stay_and_an_optimiser_that_holds_them_trains_on() -> None:
    model = network()
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.2, momentum=0.9)
    assert ft.convert(model, "hif8") is model
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(24, 1, 8, 8)).astype(np.float32))
    labels, losses = torch.arange(24) % 3, []
    for _ in range(25):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.05


def test_only_what_is_asked_for_is_converted_and_subclasses_stay() -> None:
    model = ft.convert(network(), "hfp8", only=lambda name, module: isinstance(module, nn.Linear))
    assert formats(model) == [recipe("hfp8").weights.name, "dlfloat16"]
    attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    ft.convert(attention, "hif8")
    assert type(attention.self_attn.out_proj).__module__.startswith("torch.nn")
    assert isinstance(attention.linear1, ft.Linear)


def test_a_layer_that_stands_twice_is_one_layer_afterwards() -> None:
    shared = nn.Linear(4, 4)
    model = ft.convert(nn.Sequential(shared, nn.ReLU(), shared), "hif8")
    assert model[0] is model[2] and isinstance(model[0], ft.Linear)


def test_a_single_layer_gives_a_new_one_with_its_mode() -> None:
    plain = nn.Linear(4, 4).eval()
    layer = ft.convert(plain, "hif8")
    assert isinstance(layer, ft.Linear) and layer.weight is plain.weight and not layer.training


def test_models_without_a_layer_are_refused_and_nothing_is_changed() -> None:
    with pytest.raises(ValueError, match="none such"):
        ft.convert(nn.ReLU(), "hif8")
    with pytest.raises(ValueError, match="`only` takes none"):
        ft.convert(network(), "hif8", only=lambda name, module: False)
    with pytest.raises(ValueError, match="fp7"):
        ft.convert(network(), "fp7")
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].register_parameter("gain", nn.Parameter(torch.ones(4)))
    with pytest.raises(ValueError, match="other parameters"):
        ft.convert(model, "hif8")
    assert formats(model) == []


# --- loss scaling -----------------------------------------------------------------------------------------------------


def trained(scaler: Any, steps: int = 300) -> tuple[list[float], Any]:
    """Scales over updates some of which overflow, and the weight at the end."""
    rng = np.random.default_rng(2)
    weight = nn.Parameter(torch.ones(5))
    optimizer = torch.optim.SGD([weight], lr=0.01)
    scales = []
    for _ in range(steps):
        optimizer.zero_grad()
        scaler.scale((weight * torch.from_numpy(rng.normal(size=5)).float()).sum()).backward()
        if rng.uniform() < 0.1:
            weight.grad[int(rng.integers(5))] = rng.choice([np.inf, -np.inf, np.nan])
        if rng.uniform() < 0.3:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales, weight.detach()


def test_backoff_takes_the_steps_of_torchs_own_scaler() -> None:
    ours = trained(ft.GradScaler("hif8(loss=backoff(window=7))"))
    theirs = trained(torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=7))
    assert ours[0] == theirs[0] and torch.equal(ours[1], theirs[1])
    assert len(set(ours[0])) > 5


def test_a_scaler_goes_on_from_its_state() -> None:
    scaler = ft.GradScaler("hif8(loss=logmax)")
    trained(scaler, 20)
    other = ft.GradScaler("hif8(loss=logmax)")
    other.load_state_dict(copy.deepcopy(scaler.state_dict()))
    assert trained(other, 20)[0] == trained(scaler, 20)[0]


def test_calls_out_of_order_are_refused_as_torch_refuses_them() -> None:
    scaler = ft.GradScaler("hif8")
    weight = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with pytest.raises(RuntimeError, match="call step"):
        scaler.update()
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="unscale_"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
