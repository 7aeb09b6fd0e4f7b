"""Layers in block formats, and scaled products on tensors: bits, gradients and compilers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.ml.torch.test_layers import numbers  # noqa: E402

import fp9.testing  # noqa: E402
import fp9_ml.torch as ft  # noqa: E402
from fp9_ml.recipes.blocks import BLOCK_RECIPES  # noqa: E402

nn = torch.nn
CALL = {"profile": "h100", "split_k": 1}


def _error(found: Any, exact: Any) -> float:
    return float((found - exact).norm() / exact.norm())


@pytest.mark.parametrize(("name", "bar"), [("mxfp8", 0.05), ("nvfp4", 0.2), ("deepseek", 0.05)])
def test_a_layer_and_its_gradients_are_those_of_float32_within_the_formats_error(name: str, bar: float) -> None:
    layer = ft.BlockLinear(160, 48, bias=False, recipe=name)
    plain = nn.Linear(160, 48, bias=False)
    plain.weight = nn.Parameter(layer.weight.detach().clone())
    x, other, g = numbers(32, 160).requires_grad_(), numbers(32, 160).requires_grad_(), numbers(32, 48, seed=1)
    for one, data in ((layer, x), (plain, other)):
        one(data).backward(g)
    assert 0 < _error(layer(x), plain(x)) < bar
    assert 0 < _error(x.grad, other.grad) < bar
    assert 0 < _error(layer.weight.grad, plain.weight.grad) < bar


def test_mxfp8_is_the_product_of_quantised_arrays() -> None:
    layer, x = ft.BlockLinear(64, 8, bias=False, recipe="mxfp8"), numbers(4, 64)
    a = fp9.quantise(x.numpy(), "mxfp8_e4m3")
    b = fp9.quantise(layer.weight.detach().numpy().T.copy(), "mxfp8_e4m3", axis=-2)
    want = fp9.decode(fp9.matmul(a, b, engine="blackwell").codes, "fp32")
    assert np.array_equal(layer(x).detach().numpy(), want)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BLOCK_RECIPES)
def test_converted_models_compile_and_export(name: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 4))
    first = model[0].weight
    ft.convert_blocks(model, name)
    assert model[0].weight is first and set(model.state_dict()) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    x, plain = numbers(6, 32), copy.deepcopy(model)
    torch.compile(model, backend="aot_eager", fullgraph=True)(x).square().sum().backward()
    plain(x).square().sum().backward()
    assert all(torch.equal(p.grad, q.grad) for p, q in zip(model.parameters(), plain.parameters(), strict=True))
    assert torch.equal(torch.export.export(plain, (x,)).module()(x), plain(x))


def test_unknown_recipes_and_models_without_layers_are_refused() -> None:
    with pytest.raises(ValueError, match="block recipe 'mxfp9'"):
        ft.BlockLinear(4, 4, recipe="mxfp9")
    with pytest.raises(ValueError, match="without Linear layers"):
        ft.convert_blocks(nn.Sequential(nn.ReLU()), "mxfp8")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn])
def test_scaled_mm_has_the_bits_of_the_array_call_and_compiles(dtype: Any) -> None:
    a, b = numbers(16, 64).to(torch.float8_e4m3fn), numbers(32, 64, seed=1).to(torch.float8_e4m3fn)
    scales = torch.tensor(0.5), torch.tensor(0.25)
    found = ft.scaled_mm(a, b.t(), *scales, out_dtype=dtype, use_fast_accum=True, **CALL)
    want = fp9.scaled_mm(a, b.t(), *scales, None, None, str(dtype).removeprefix("torch."), True, **CALL)
    fp9.testing.assert_equal_bits(found, want, want.format)
    graph = torch.compile(lambda x, y: ft.scaled_mm(x, y, *scales, out_dtype=dtype, **CALL), backend="aot_eager")
    fp9.testing.assert_equal_bits(
        graph(a, b.t()), ft.scaled_mm(a, b.t(), *scales, out_dtype=dtype, **CALL), want.format
    )


def test_scaled_mm_refuses_what_torch_refuses() -> None:
    a = numbers(16, 16).to(torch.float8_e4m3fn)
    with pytest.raises(ValueError, match=r"out_dtype=torch\.int8 given"):
        ft.scaled_mm(a, a.t(), torch.tensor(1.0), torch.tensor(1.0), out_dtype=torch.int8, **CALL)
    with pytest.raises(ValueError, match="split_k not given"):
        ft.scaled_mm(a, a.t(), torch.tensor(1.0), torch.tensor(1.0), out_dtype=torch.bfloat16, profile="h100")


WRONG: dict[str, dict[str, Any]] = {
    "scale_a of type float given; give a tensor": {"scale_a": 1.0},
    "input of type ndarray given; give a tensor": {"input": np.zeros((16, 16), np.uint8)},
    "use_fast_accum of type str given": {"use_fast_accum": "yes"},
    r"bias of shape \(4,\) given; give \(16,\)": {"bias": torch.zeros(4)},
    "operand of bf16 given; cuBLASLt .* at most 8 bits": {"input": numbers(16, 16).bfloat16()},
    "unknown choice 'splitk'; did you mean split_k": {"splitk": 2},
}


@pytest.mark.parametrize("sentence", WRONG)
def test_wrong_arguments_of_scaled_mm_are_refused_in_a_sentence(sentence: str) -> None:
    a, one = numbers(16, 16).to(torch.float8_e4m3fn), torch.tensor(1.0)
    call = {"input": a, "mat2": a.t(), "scale_a": one, "scale_b": one, "out_dtype": torch.bfloat16} | CALL
    with pytest.raises((TypeError, ValueError), match=sentence):
        ft.scaled_mm(**(call | {"profile": "h200"} | WRONG[sentence]))


def test_packed_fp4_operands_have_the_bits_of_their_codes() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 16, (8, 32), np.uint8) for _ in range(2))
    scales = [torch.ones(shape).to(torch.float8_e4m3fn) for shape in ((8, 2), (2, 8))]
    packed = [torch.from_numpy(x[:, ::2] | x[:, 1::2] << 4).view(torch.float4_e2m1fn_x2) for x in (a, b)]
    call: dict[str, Any] = {"use_fast_accum": True, "profile": "b200", "split_k": 1}
    found = ft.scaled_mm(packed[0], packed[1].t(), *scales, out_dtype=torch.float32, **call)
    codes = [fp9.Array(x, fp9.format("e2m1")) for x in (a, b.T)]
    want = fp9.scaled_mm(*codes, *scales, out_dtype="fp32", **call)
    fp9.testing.assert_equal_bits(found, want, "fp32")


def test_a_scaled_linear_differentiates() -> None:
    x, w, g = numbers(8, 96).requires_grad_(), numbers(24, 96, seed=1).requires_grad_(), numbers(8, 24, seed=2)
    ft.scaled_linear(x, w, **CALL).backward(g)
    assert 0 < _error(x.grad, g @ w.detach()) < 0.08
    assert 0 < _error(w.grad, g.t() @ x.detach()) < 0.08
