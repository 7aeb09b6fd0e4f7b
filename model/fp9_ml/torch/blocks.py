"""PyTorch linear layers whose products are computed in block formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from fp9.names import unknown
from fp9_ml.recipes.blocks import BLOCK_RECIPES, BlockRecipe


def block_recipe(name: str) -> BlockRecipe:
    if name not in BLOCK_RECIPES:
        raise ValueError(unknown("block recipe", name, BLOCK_RECIPES, "give mxfp8, nvfp4 or deepseek"))
    return BLOCK_RECIPES[name]


@torch.library.custom_op("fp9::block_product", mutates_args=())
def _block_product(x: torch.Tensor, w: torch.Tensor, recipe: str, weighted: bool) -> torch.Tensor:
    a, b = (np.ascontiguousarray(each.detach().to("cpu", torch.float32).numpy()) for each in (x, w))
    y = block_recipe(recipe).multiply(a, b, weighted)
    return torch.from_numpy(np.ascontiguousarray(y)).to(x.device, x.dtype)


@_block_product.register_fake
def _(x: torch.Tensor, w: torch.Tensor, recipe: str, weighted: bool) -> torch.Tensor:
    return x.new_empty((x.shape[0], w.shape[1]))


def _setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, w, ctx.recipe, ctx.weighted = inputs
    ctx.save_for_backward(x, w)


def _differentiate(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    x, w = ctx.saved_tensors
    dx = _block_product(gradient, w.t(), ctx.recipe, ctx.weighted)
    dw = _block_product(x.t(), gradient.to(x.dtype), ctx.recipe, False)
    return dx.to(x.dtype), dw.to(w.dtype), None, None


_block_product.register_autograd(_differentiate, setup_context=_setup)


class BlockLinear(nn.Linear):
    """torch.nn.Linear whose three products are computed in a block format (`mxfp8`, `nvfp4` or `deepseek`).

    Each operand is divided into blocks along the axis over which the product sums. Each block has its own scale.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, recipe: str, **options: Any) -> None:
        super().__init__(in_features, out_features, bias, **options)
        self.recipe = block_recipe(recipe).name

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return the output (..., out) for an input (..., in)."""
        rows = input.reshape(-1, input.shape[-1])
        y: torch.Tensor = _block_product(rows, self.weight.t(), self.recipe, True)
        y = y if self.bias is None else y + self.bias
        return y.reshape(*input.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, recipe={self.recipe}"


def convert_blocks(model: nn.Module, recipe: str, only: Callable[[str, nn.Module], bool] | None = None) -> nn.Module:
    """Replace the Linear layers of a model by layers whose products use a block format.

    The new layers share the parameters of the old layers.

    If `only` is given, only layers for which `only(name, module)` is true are replaced. The model is changed in place
    and returned. If the model itself is a Linear layer, a new layer is returned. Raises ValueError if no layer is
    replaced.
    """
    chosen = block_recipe(recipe).name
    wanted = [
        (name, layer)
        for name, layer in model.named_modules()
        if type(layer) is nn.Linear and (only is None or only(name, layer))
    ]
    if not wanted:
        raise ValueError("a model without Linear layers given, or `only` takes none; give one with a layer to convert")
    for name, layer in wanted:
        new = BlockLinear(
            layer.in_features, layer.out_features, layer.bias is not None, recipe=chosen, device="meta"
        ).train(layer.training)
        new.weight, new.bias = layer.weight, layer.bias
        if not name:
            return new
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, new)
    return model
