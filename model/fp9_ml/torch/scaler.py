"""Loss scaler that follows a training recipe, with the interface of torch's GradScaler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.optim import Optimizer

from fp9_ml.recipes import Recipe
from fp9_ml.recipes import recipe as find_recipe


class GradScaler:
    """Replacement for torch's GradScaler that computes the loss scale by the rule of a training recipe.

        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    If the recipe's rule is `backoff`, the loss scales and the skipped steps are the same as in torch. The methods
    `unscale_` and `step` may be called once for each optimiser between two calls of `update`. As in torch, gradients
    are unscaled by an FP32 multiplication with the inverse of the loss scale.
    """

    def __init__(self, recipe: Recipe | str) -> None:
        self._machine = find_recipe(recipe).loss_scaler()
        self._begin()

    def _begin(self) -> None:
        self._finite, self._amax = True, 0.0
        self._unscaled: dict[int, bool] = {}
        self._stepped: set[int] = set()

    def get_scale(self) -> float:
        """Return the loss scale of the current step."""
        return self._machine.scale

    def scale(self, loss: torch.Tensor) -> torch.Tensor:
        """Return the loss multiplied by the loss scale."""
        return loss * self._machine.scale

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide an optimiser's gradients by the loss scale.

        Call this method before `step` if other code uses the gradients, for example to clip them. Raises RuntimeError,
        as torch does, if `unscale_` is called twice before `update`.
        """
        if id(optimizer) in self._unscaled:
            raise RuntimeError("unscale_() has been called on this optimizer since the last update()")
        inverse = 1.0 / self._machine.scale
        finite = True
        for gradient in _gradients(optimizer):
            finite &= bool(torch.isfinite(gradient).all())
            gradient.mul_(inverse)
            if gradient.numel():
                self._amax = max(self._amax, float(gradient.detach().abs().nan_to_num(0.0, posinf=torch.inf).max()))
        self._unscaled[id(optimizer)] = finite
        self._finite &= finite

    def step(self, optimizer: Optimizer, *arguments: Any, **options: Any) -> Any:
        """Call `unscale_` unless the caller has done so, and then call the optimiser's `step`.

        If a gradient is not finite, the optimiser's step is skipped, and the result is None.

        Raises RuntimeError, as torch does, if `step` is called twice before `update`.
        """
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update()")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return optimizer.step(*arguments, **options) if self._unscaled[id(optimizer)] else None

    def update(self) -> None:
        """Set the loss scale for the next step.

        Raises RuntimeError if neither `unscale_` nor `step` was called before. Raises ValueError if the loss scale
        becomes zero.
        """
        if not self._unscaled:
            raise RuntimeError("no gradients were unscaled; call step() before update()")
        self._machine.update(self._finite, self._amax if self._finite else None)
        self._begin()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the loss scaling rule, as plain numbers and lists."""
        return self._machine.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `state_dict` returned.

        Raises ValueError if the keys or the values of `state` do not fit the loss scaling rule.
        """
        self._machine.load_state_dict(state)


def _gradients(optimizer: Optimizer) -> list[torch.Tensor]:
    return [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
