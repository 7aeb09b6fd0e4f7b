"""The three products of a layer as one function that autograd differentiates: NumPy inside, tensors outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd.function import once_differentiable

from fp9_ml.recipes import LayerState, Recipe, Recording, Role, Saved

Numbers: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Use:
    """A layer's scales, which move where `training`; where its products are kept, and under which name.

    `instead` gives the forward product of x and w in place of the recipe, without gradients.
    """

    state: LayerState
    training: bool
    recording: Recording | None = None
    name: str = ""
    instead: Callable[[Numbers, Numbers], Numbers] | None = None


class _Product(torch.autograd.Function):
    """y = x w^T by a recipe; dx and dw by its two backward products."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor, recipe: Recipe, use: Use) -> Any:
        rows, weights = _numbers(x), _numbers(w)
        y, ctx.saved = recipe.linear(rows, weights, use.state, training=use.training, random=_random(recipe))
        ctx.recipe, ctx.dtypes, ctx.use = recipe, (x.dtype, w.dtype), use
        if use.recording is not None:
            use.recording.forward(use.name, ctx.saved, rows, weights)
        return torch.from_numpy(y).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        saved: Saved = ctx.saved
        arrived = _numbers(gradient)
        found = ctx.recipe.linear_backward(arrived, saved, random=_random(ctx.recipe))
        if ctx.use.recording is not None:
            ctx.use.recording.backward(ctx.use.name, saved, found, arrived)
        dx, dw = (torch.from_numpy(d).to(dtype) for d, dtype in zip((found.dx, found.dw), ctx.dtypes, strict=True))
        return dx, dw, None, None


def product(x: torch.Tensor, w: torch.Tensor, recipe: Recipe, use: Use) -> torch.Tensor:
    """x w^T of x (..., in) and w (out, in), in x's dtype, differentiable once.

    Raises ValueError for tensors elsewhere than on the CPU, and for shapes that do not fit.
    """
    for name, tensor in (("x", x), ("weight", w)):
        if tensor.device.type != "cpu":
            raise ValueError(f"{name} on {tensor.device} given; fp9 computes on the CPU: move model and data there")
    if use.instead is not None:
        return torch.from_numpy(use.instead(_numbers(x), _numbers(w))).to(x.dtype)
    result: torch.Tensor = _Product.apply(x, w, recipe, use)
    return result


def _random(recipe: Recipe) -> np.random.Generator | None:
    """Bits for stochastic roundings, seeded by torch's generator; None for recipes without them."""
    formats = [(role, recipe.format_of(role)) for role in Role]
    if not any(fmt is not None and recipe.policy(role).rounding_for(fmt).needs_bits for role, fmt in formats):
        return None
    return generator()


def generator() -> np.random.Generator:
    """Random bits that torch's generator has seeded."""
    return np.random.default_rng(int(torch.randint(2**62, ())))


def _numbers(tensor: torch.Tensor) -> Numbers:
    """A tensor's numbers as FP32."""
    array: Numbers = tensor.detach().to(torch.float32).numpy()
    return array
