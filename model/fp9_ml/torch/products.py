"""Products of a layer as a function that autograd can differentiate.

The function takes tensors and computes in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd.function import once_differentiable

from fp9_ml.recipes import LayerState, Recipe, Recording, Role, Saved

Numbers: TypeAlias = NDArray[np.float32]

PASSES = 1024
"""Maximum number of forward passes of a product whose factors are stored for activation checkpointing."""


class Passes:
    """Scale factors of the last forward passes of a product. A digest of the operands identifies a pass."""

    def __init__(self) -> None:
        self._factors: dict[bytes, Mapping[Role, float]] = {}

    def add(self, x: Numbers, w: Numbers, factors: Mapping[Role, float]) -> None:
        """Store the factors of a pass. New factors replace earlier factors for equal operands."""
        digest = _digest(x, w)
        self._factors.pop(digest, None)
        self._factors[digest] = factors
        if len(self._factors) > PASSES:
            del self._factors[next(iter(self._factors))]

    def find(self, x: Numbers, w: Numbers) -> Mapping[Role, float]:
        """Return the factors of the pass with these operands. Raises ValueError if there is none."""
        found = self._factors.get(_digest(x, w))
        if found is None:
            raise ValueError(
                f"operands that no forward pass among the last {PASSES} had given in a backward pass; "
                "let the checkpointed function compute the same numbers again, with preserve_rng_state=True"
            )
        return found


def _digest(x: Numbers, w: Numbers) -> bytes:
    return b"".join(blake2b(np.ascontiguousarray(each).data, digest_size=16).digest() for each in (x, w))


@dataclass(frozen=True)
class Use:
    """Scales of a layer, and the recording to which its products are written, if any. With `training`, the scales
    are updated.

    `passes` holds the factors of earlier passes. A repeated pass uses these factors. `instead` computes the forward
    product of x and w in place of the recipe, without gradients.
    """

    state: LayerState
    training: bool
    passes: Passes = field(default_factory=Passes)
    recording: Recording | None = None
    name: str = ""
    instead: Callable[[Numbers, Numbers], Numbers] | None = None


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor, recipe: Recipe, use: Use) -> Any:
        rows, weights = _numbers(x), _numbers(w)
        moves, repeated = use.training and use.state.remembers, _is_repeated()
        y, ctx.saved = recipe.linear(
            rows,
            weights,
            use.state,
            training=use.training,
            random=_random(recipe),
            earlier=use.passes.find(rows, weights) if moves and repeated else None,
        )
        ctx.recipe, ctx.dtypes, ctx.use = recipe, (x.dtype, w.dtype), use
        if moves and not repeated:
            use.passes.add(rows, weights, ctx.saved.factors)
        if use.recording is not None and not repeated:
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


def _is_repeated() -> bool:
    """Return whether a backward pass is running. A forward pass inside a backward pass is a repetition by
    activation checkpointing.
    """
    return bool(torch._C._current_graph_task_id() != -1)


@torch._disable_dynamo  # NumPy and Numba compute: a compiled graph ends before a product and goes on after it
def product(x: torch.Tensor, w: torch.Tensor, recipe: Recipe, use: Use) -> torch.Tensor:
    """Return x w^T for x (..., in) and w (out, in), in x's dtype. The product can be differentiated once.

    Raises ValueError for tensors that are not on the CPU, for shapes that do not fit, and under transforms of
    torch.func. Also raises it if activation checkpointing repeats a pass with other operands.
    """
    if torch._C._are_functorch_transforms_active():
        raise ValueError("a transform of torch.func given; differentiate by backward() or torch.autograd.grad")
    for name, tensor in (("x", x), ("weight", w)):
        if tensor.device.type != "cpu":
            raise ValueError(f"{name} on {tensor.device} given; fp9 computes on the CPU: move model and data there")
    if use.instead is not None:
        return torch.from_numpy(use.instead(_numbers(x), _numbers(w))).to(x.dtype)
    result: torch.Tensor = _Product.apply(x, w, recipe, use)
    return result


def _random(recipe: Recipe) -> np.random.Generator | None:
    formats = [(role, recipe.format_of(role)) for role in Role]
    if not any(fmt is not None and recipe.policy(role).rounding_for(fmt).needs_bits for role, fmt in formats):
        return None
    return generator()


def generator() -> np.random.Generator:
    """Return a NumPy random generator. The seed is drawn from torch's generator."""
    return np.random.default_rng(int(torch.randint(2**62, ())))


def _numbers(tensor: torch.Tensor) -> Numbers:
    array: Numbers = tensor.detach().to(torch.float32).numpy()
    return array
