"""Layers under compilers, exporters and transforms of torch: the same bits as without."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.ml.torch.test_layers import numbers  # noqa: E402

import fp9_ml.torch as ft  # noqa: E402

nn = torch.nn
RECIPES = ("hfp8", "te_delayed", "hif8", "fp32")


def network(recipe: str) -> Any:
    torch.manual_seed(1)
    layers = [nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 12), nn.GELU(), nn.Linear(12, 4)]
    return ft.convert(nn.Sequential(*layers), recipe)


def gradients(model: Any, forward: Any, count: int = 2) -> list[Any]:
    """Results and gradients of some steps."""
    found = []
    for step in range(count):
        model.zero_grad()
        x = numbers(3, 2, 6, 6, seed=step).requires_grad_()
        y = forward(x)
        y.square().sum().backward()
        found += [y.detach(), x.grad, *(parameter.grad.clone() for parameter in model.parameters())]
    return found


def same(one: list[Any], other: list[Any]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_compiled_model_is_one_graph_with_the_same_bits(recipe: str) -> None:
    plain, compiled = network(recipe), network(recipe)
    graph = torch.compile(compiled, backend="aot_eager", fullgraph=True)
    assert same(gradients(compiled, graph), gradients(plain, plain))
    assert [m.get_extra_state() for m in compiled if isinstance(m, ft.Linear)] == [
        m.get_extra_state() for m in plain if isinstance(m, ft.Linear)
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_inductor_gives_the_bits_of_the_products() -> None:
    layer = ft.Linear(16, 8, bias=False, recipe="hfp8")
    graph = torch.compile(layer, fullgraph=True)
    x, g = numbers(4, 16).requires_grad_(), numbers(4, 8, seed=1)
    y = graph(x)
    y.backward(g)
    dx, dw, x.grad, layer.weight.grad = x.grad, layer.weight.grad, None, None
    want = layer(x)
    want.backward(g)
    assert same([y, dx, dw], [want, x.grad, layer.weight.grad])


@pytest.mark.filterwarnings("ignore")
def test_an_exported_model_gives_the_same_bits_in_another_process(tmp_path: Path) -> None:
    model, x = network("hfp8").eval(), numbers(3, 2, 6, 6)
    program = torch.export.export(model, (x,))
    assert torch.equal(program.module()(x), model(x))
    torch.export.save(program, tmp_path / "model.pt2")
    torch.save((x, model(x)), tmp_path / "wanted.pt")
    code = (
        "import torch, fp9_ml.torch; x, y = torch.load('wanted.pt'); "
        "assert torch.equal(torch.export.load('model.pt2').module()(x), y)"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, check=True)


def test_a_graph_without_its_layer_needs_scales_without_memory() -> None:
    layer = ft.Linear(8, 4, recipe="te_delayed")
    arguments = numbers(2, 8), layer.weight, ft.products.spelled(layer.recipe), False
    with pytest.raises(ValueError, match="te_delayed given in a graph whose layer does not exist"):
        torch.ops.fp9.linear(*arguments, 1, 0)


@pytest.mark.parametrize("recipe", RECIPES)
def test_grad_of_torch_func_is_that_of_backward(recipe: str) -> None:
    layer, x = ft.Linear(8, 4, recipe=recipe), numbers(3, 8)
    other = copy.deepcopy(layer)
    other(x).square().sum().backward()

    def loss(parameters: Any) -> Any:
        return torch.func.functional_call(layer, parameters, x).square().sum()

    found = torch.func.grad(loss)({name: p.detach() for name, p in layer.named_parameters()})
    assert torch.equal(found["weight"], other.weight.grad)


@pytest.mark.parametrize("recipe", ["hfp8", "te_delayed"])
def test_the_operators_pass_torchs_own_checks(recipe: str) -> None:
    layer = ft.Linear(8, 4, recipe=recipe)
    x, text = numbers(3, 8).requires_grad_(), ft.products.spelled(layer.recipe)
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(torch.ops.fp9.linear, (x, layer.weight, text, False, layer._handle, 0), test_utils=tests)


def test_a_copy_has_its_own_scales() -> None:
    layer = ft.Linear(8, 4, recipe="te_delayed")
    before = copy.deepcopy(layer.get_extra_state())
    for made in (copy.deepcopy(layer), _through_a_file(layer)):
        made(numbers(3, 8)).sum().backward()
        assert made.get_extra_state() != before
    assert layer.get_extra_state() == before


def _through_a_file(layer: Any) -> Any:
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def test_shapes_on_the_meta_device() -> None:
    layer = ft.Linear(8, 4, recipe="hfp8").to("meta")
    assert layer(torch.empty(5, 3, 8, device="meta")).shape == (5, 3, 4)
