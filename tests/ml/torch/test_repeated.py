"""Passes that torch repeats, in activation checkpointing or by a second backward pass: same bits, no scale moves."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.ml.torch.test_layers import numbers  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import fp9_ml.torch as ft  # noqa: E402

nn = torch.nn
REMEMBERING = ("te_delayed", "hif8_pts", "te_delayed(backward_rounding=sr)")


def network(recipe: str) -> Any:
    torch.manual_seed(1)
    layers = [nn.Linear(8, 12), nn.Dropout(0.3), nn.ReLU(), nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 4)]
    return ft.convert(nn.Sequential(*layers), recipe)


def states(model: Any) -> list[Any]:
    return [layer.get_extra_state() for layer in model if isinstance(layer, ft.Linear)]


def steps(model: Any, forward: Callable[[Any, Any], Any], count: int = 12) -> list[Any]:
    """Gradients of the input and the parameters over steps of growing numbers, two parts of a batch in each."""
    found = []
    for step in range(count):
        torch.manual_seed(step)
        model.zero_grad()
        parts = [(numbers(4, 8, seed=2 * step + part) * 2.0**step).requires_grad_() for part in range(2)]
        sum(forward(model, part).square().sum() for part in parts).backward()
        found += [part.grad for part in parts] + [parameter.grad.clone() for parameter in model.parameters()]
    return found


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("recipe", REMEMBERING[:2])
def test_activation_checkpointing_changes_neither_gradients_nor_scales(recipe: str, reentrant: bool) -> None:
    plain, saving = network(recipe), network(recipe)
    expected = steps(plain, lambda model, x: model(x))
    found = steps(saving, partial(checkpoint, use_reentrant=reentrant))
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    assert states(saving) == states(plain)


def test_a_repeated_pass_with_other_numbers_is_refused() -> None:
    model = network("te_delayed")
    x = numbers(4, 8).requires_grad_()
    y = checkpoint(model, x, use_reentrant=True, preserve_rng_state=False)
    with pytest.raises(ValueError, match="preserve_rng_state=True"):
        y.square().sum().backward()


@pytest.mark.parametrize("recipe", REMEMBERING)
def test_a_second_backward_pass_moves_no_scale(recipe: str) -> None:
    model = network(recipe)
    loss = model(numbers(4, 8)).square().sum()
    loss.backward(retain_graph=True)
    before = copy.deepcopy(states(model))
    first = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    loss.backward()
    assert states(model) == before
    if "sr" not in recipe:
        assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), first, strict=True))


def test_a_recording_has_no_repeated_pass() -> None:
    model = network("te_delayed")
    with ft.record(model) as plain:
        model(numbers(4, 8)).square().sum().backward()
    with ft.record(model) as saving:
        checkpoint(model, numbers(4, 8), use_reentrant=False).square().sum().backward()
    assert [r.layer for r in saving.products] == [r.layer for r in plain.products]


def test_vmap_is_refused_and_moves_no_scale() -> None:
    layer = ft.Linear(8, 4, recipe="te_delayed")
    before = copy.deepcopy(layer.get_extra_state())
    with pytest.raises(RuntimeError, match="vmap"):
        torch.func.vmap(layer)(numbers(2, 3, 8))
    assert layer.get_extra_state() == before


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_model_gives_the_same_and_moves_scales_once() -> None:
    plain, compiled = network("te_delayed"), network("te_delayed")
    graph = torch.compile(compiled, backend="eager")
    expected = steps(plain, lambda model, x: model(x), 3)
    found = steps(compiled, lambda _, x: graph(x), 3)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    assert states(compiled) == states(plain)
