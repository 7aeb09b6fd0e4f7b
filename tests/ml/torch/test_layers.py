"""Layers of PyTorch under a recipe: the bits are the recipe's, the habits are torch's."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fp9  # noqa: E402
import fp9_ml.torch as ft  # noqa: E402
from fp9_ml.recipes import RECIPES, recipe  # noqa: E402

nn = torch.nn


def numbers(*shape: int, seed: int = 0) -> Any:
    """Normal float32 numbers as a tensor."""
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def through(x: Any, fmt: str, rounding: str | None = None) -> Any:
    """Numbers after a cast, as float64."""
    return torch.from_numpy(fp9.decode(fp9.encode(x.numpy(), fmt, rounding), fmt).astype(np.float64))


# --- bits -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECIPES)
def test_a_linear_layer_gives_the_bits_of_its_recipe_over_several_steps(name: str) -> None:
    layer = ft.Linear(24, 6, bias=False, recipe=name)
    state, weight = recipe(name).state(), layer.weight.detach().numpy()
    for step in range(3):
        x, g = numbers(2, 5, 24, seed=step).requires_grad_(), numbers(2, 5, 6, seed=9 + step)
        y, saved = recipe(name).linear(x.detach().numpy().reshape(10, 24), weight, state)
        back = recipe(name).linear_backward(g.numpy().reshape(10, 6), saved)
        layer.weight.grad = None
        result = layer(x)
        result.backward(g)
        assert np.array_equal(result.detach().numpy().reshape(10, 6), y)
        assert np.array_equal(x.grad.numpy().reshape(10, 24), back.dx)
        assert np.array_equal(layer.weight.grad.numpy(), back.dw)


EXACT = "hif8(forward=exact,dgrad=exact,wgrad=exact,last=none)"


def test_all_three_products_of_an_exact_engine_are_float64_products_of_the_operands_rounded_once() -> None:
    layer = ft.Linear(30, 7, bias=False, recipe=EXACT)
    x, g = numbers(9, 30).requires_grad_(), numbers(9, 7, seed=1)
    y = layer(x)
    y.backward(g)
    a, w = through(x.detach(), "hif8", "rna"), through(layer.weight.detach(), "hif8", "rna")
    e = through(g, "hif8", "rna")
    for found, expected in ((y, a @ w.T), (x.grad, e @ w), (layer.weight.grad, e.T @ a)):
        assert torch.equal(found, expected.float())


SETTINGS = [
    {"kernel_size": 3},
    {"kernel_size": (2, 3), "stride": (2, 1), "padding": (0, 2)},
    {"kernel_size": 3, "dilation": 2, "padding": "same"},
    {"kernel_size": 3, "groups": 2, "padding": 1, "bias": False},
    {"kernel_size": 3, "groups": 4, "padding": 1, "padding_mode": "reflect"},
    {"kernel_size": 1, "stride": 3},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_convolution_is_torchs_of_the_operands_forward_and_backward(settings: dict[str, Any]) -> None:
    plain = nn.Conv2d(4, 8, **settings).double()
    layer = ft.Conv2d(4, 8, **settings, recipe=EXACT)
    layer.load_state_dict(plain.state_dict())
    x = numbers(2, 4, 7, 8).requires_grad_()
    y = layer(x)
    g = numbers(*y.shape, seed=1)
    y.backward(g)
    operands = [through(t.detach(), "hif8", "rna") for t in (x, layer.weight, g)]
    wide = operands[0].requires_grad_()
    plain.weight.data = operands[1]
    bias = None if plain.bias is None else plain.bias.detach().clone()
    plain.bias = None
    expected = plain(wide)
    expected.backward(operands[2])
    rounded = expected.float() if bias is None else expected.float() + bias.float()[:, None, None]
    assert torch.equal(y, rounded)
    assert torch.equal(layer.weight.grad, plain.weight.grad.float())
    torch.testing.assert_close(x.grad, wide.grad.float(), rtol=1e-5, atol=1e-5)  # patches are added up in float32


def test_the_recipe_without_formats_is_torchs_own_layer() -> None:
    for plain in (nn.Linear(12, 5), nn.Conv2d(3, 6, 3, padding=1, groups=3)):
        x = numbers(2, 12) if isinstance(plain, nn.Linear) else numbers(2, 3, 5, 5)
        layer = ft.convert(copy.deepcopy(plain), "fp32")
        for one in (plain, layer):
            one(x).square().sum().backward()
        torch.testing.assert_close(layer(x), plain(x))
        for name, parameter in plain.named_parameters():
            torch.testing.assert_close(layer.get_parameter(name).grad, parameter.grad, rtol=1e-4, atol=1e-5)


def test_stochastic_rounding_draws_from_torchs_generator() -> None:
    layer = ft.Linear(16, 4, recipe="hfp8(backward_rounding=sr,first=none,last=none)")
    x, g = numbers(8, 16), numbers(8, 4, seed=1)

    def gradient(seed: int) -> Any:
        torch.manual_seed(seed)
        layer.weight.grad = None
        layer(x).backward(g)
        return layer.weight.grad

    assert torch.equal(gradient(1), gradient(1))
    assert not torch.equal(gradient(1), gradient(2))


# --- habits -----------------------------------------------------------------------------------------------------------


def stepped(layer: Any, steps: range) -> Any:
    """Results of a layer over several steps with growing numbers, forward and backward."""
    found = []
    for step in steps:
        x = (numbers(4, 8, seed=step) * 2.0**step).requires_grad_()
        y = layer(x)
        y.square().sum().backward()
        found += [y.detach(), x.grad]
    return torch.stack([value.sum() for value in found])


def test_a_state_dict_goes_on_bit_for_bit_through_a_file() -> None:
    layer = ft.Linear(8, 4, recipe="te_delayed")
    stepped(layer, range(3))
    buffer = io.BytesIO()
    torch.save(layer.state_dict(), buffer)
    buffer.seek(0)
    other = ft.Linear(8, 4, recipe="te_delayed")
    other.load_state_dict(torch.load(buffer, weights_only=True))
    assert torch.equal(stepped(other, range(3, 6)), stepped(layer, range(3, 6)))


def test_state_dicts_go_to_and_from_models_in_fp32() -> None:
    plain = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 4))
    for name in ("hfp8", "te_delayed"):
        model = ft.convert(copy.deepcopy(plain), name)
        assert model.load_state_dict(plain.state_dict()).missing_keys == []
        stepped(model, range(1))
        plain.load_state_dict(model.state_dict(), strict=name == "hfp8")
    fixed = ft.convert(copy.deepcopy(plain), "hfp8")
    assert list(fixed.state_dict()) == list(plain.state_dict())
    plain.load_state_dict(fixed.state_dict())


def test_a_state_of_another_recipe_is_told_in_a_sentence() -> None:
    delayed, periodic = (ft.Linear(8, 4, recipe=name) for name in ("te_delayed", "hif8_pts"))
    with pytest.raises((ValueError, RuntimeError), match="load a state from its state_dict"):
        periodic.load_state_dict(delayed.state_dict())


@pytest.mark.parametrize("again", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_a_copy_has_scales_of_its_own(again: Any) -> None:
    layer = ft.Linear(8, 4, recipe="te_delayed")
    stepped(layer, range(2))
    other = again(layer)
    before = layer.get_extra_state()
    results = stepped(other, range(2, 5))
    assert layer.get_extra_state() == before
    assert torch.equal(stepped(layer, range(2, 5)), results)


def test_evaluation_moves_no_scale() -> None:
    layer = ft.Linear(8, 4, recipe="te_delayed")
    stepped(layer, range(2))
    before = copy.deepcopy(layer.get_extra_state())
    layer.eval()
    stepped(layer, range(2, 4))
    assert layer.get_extra_state() == before
    layer.train()
    stepped(layer, range(2, 4))
    assert layer.get_extra_state() != before


def test_results_have_the_inputs_dtype_and_other_shapes_are_refused() -> None:
    layer = ft.Linear(8, 4, recipe="hfp8").bfloat16()
    y = layer(numbers(3, 8).bfloat16())
    y.sum().backward()
    assert y.dtype == layer.weight.grad.dtype == torch.bfloat16
    with pytest.raises(ValueError, match=r"give \(n, 3, h, w\)"):
        ft.Conv2d(3, 4, 3, recipe="hfp8")(numbers(2, 2, 5, 5))
