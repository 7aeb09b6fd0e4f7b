"""PyTorch layers whose matrix products follow a training recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from fp9_ml.recipes import LayerState, Recipe, Recording, recipe
from fp9_ml.torch.products import Instead, Passes, Use, product, register, replaced, spelled

_EXTRA = "_extra_state"


class ByRecipe(nn.Module):
    """Base class of PyTorch layers that follow a training recipe and have scales."""

    recipe: Recipe
    scales: tuple[LayerState, ...]
    kept_in: tuple[Recording, str] | None
    instead: Instead | None

    def _begin(self, chosen: Recipe | str, groups: int = 1) -> None:
        self.recipe = recipe(chosen)
        self.scales = tuple(self.recipe.state() for _ in range(groups))
        self._passes = tuple(Passes() for _ in range(groups))
        self.kept_in = self.instead = None
        self._handle, self._spelled = register(self), spelled(self.recipe)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._handle = register(self)  # a copy has its own scales

    def use(self, group: int) -> Use:
        recording, name = self.kept_in or (None, "")
        name = name if len(self.scales) == 1 else f"{name}.{group}"
        return Use(self.scales[group], self._passes[group], recording, name)

    def _product(self, x: torch.Tensor, w: torch.Tensor, group: int = 0) -> torch.Tensor:
        if self.instead is not None:
            return replaced(x, w, self.instead, group)
        return product(x, w, self._spelled, self.training, self._handle, group)

    def get_extra_state(self) -> Any:
        return [scale.state_dict() for scale in self.scales]

    def set_extra_state(self, state: Any) -> None:
        if not isinstance(state, list) or len(state) != len(self.scales):
            given = f"{len(state)} groups" if isinstance(state, list) else type(state).__name__
            raise ValueError(f"scales of {given} given, and the layer has {len(self.scales)}; load the same layer's")
        for scale, own in zip(self.scales, state, strict=True):
            scale.load_state_dict(own)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        # Scales that the recipe fixes are not saved.
        if not any(role for scale in self.scales for role in scale.state_dict().values()):
            destination.pop(prefix + _EXTRA, None)

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, metadata: Any, strict: bool, missing: list[str], *rest: Any
    ) -> None:
        super()._load_from_state_dict(state_dict, prefix, metadata, strict, missing, *rest)
        # A model trained in FP32 has no scales, and the layer keeps its initial scales.
        if prefix + _EXTRA in missing:
            missing.remove(prefix + _EXTRA)


class Linear(ByRecipe, nn.Linear):
    """torch.nn.Linear whose three products follow a training recipe bit-exactly.

    PyTorch adds the bias, and computes the gradient of the bias, in the dtype of the input. In `eval` mode, the scales
    are not updated. Higher derivatives are not supported.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, *, recipe: Recipe | str, **options: Any
    ) -> None:
        super().__init__(in_features, out_features, bias, **options)
        self._begin(recipe)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return the output (..., out) for an input (..., in)."""
        rows = input.reshape(-1, input.shape[-1])
        y = self._product(rows, self.weight)
        y = y if self.bias is None else y + self.bias
        return y.reshape(*input.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, recipe={self.recipe.name}"


class Conv2d(ByRecipe, nn.Conv2d):
    """torch.nn.Conv2d that follows a training recipe.

    Each channel group is computed as a matrix product of image patches and filters.

    Products are added channel by channel, and row by row within a channel. Padding zeros are added like other numbers.
    Pixels that are in no patch do not influence the scale of the input. Each group has separate scales.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        *arguments: Any,
        recipe: Recipe | str,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, *arguments, **options)
        self._begin(recipe, self.groups)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return the output for an input (n, channels, h, w). The axis n is optional."""
        if input.dim() not in (3, 4) or input.shape[-3] != self.in_channels:
            raise ValueError(f"input of shape {tuple(input.shape)} given; give (n, {self.in_channels}, h, w)")
        batch = input if input.dim() == 4 else input[None]
        mode = "constant" if self.padding_mode == "zeros" else self.padding_mode
        padded = functional.pad(batch, self._reversed_padding_repeated_twice, mode=mode)
        patches = functional.unfold(padded, self.kernel_size, dilation=self.dilation, stride=self.stride)
        y = self._sums(patches.transpose(1, 2).reshape(-1, patches.shape[1]))
        places = self._places(padded)
        images = y.reshape(len(batch), -1, self.out_channels).transpose(1, 2).reshape(len(batch), -1, *places)
        return images if input.dim() == 4 else images[0]

    def _sums(self, rows: torch.Tensor) -> torch.Tensor:
        groups = rows.chunk(self.groups, 1), self.weight.reshape(self.out_channels, -1).chunk(self.groups)
        parts = [self._product(x, w, i) for i, (x, w) in enumerate(zip(*groups, strict=True))]
        y = parts[0] if len(parts) == 1 else torch.cat(parts, 1)
        return y if self.bias is None else y + self.bias

    def _places(self, padded: torch.Tensor) -> list[int]:
        settings = zip(padded.shape[2:], self.dilation, self.kernel_size, self.stride, strict=True)
        return [(size - dilation * (kernel - 1) - 1) // stride + 1 for size, dilation, kernel, stride in settings]

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, recipe={self.recipe.name}"
