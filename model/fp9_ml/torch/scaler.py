"""Loss scaler that follows a training recipe, with the interface of torch's GradScaler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.optim import Optimizer

from fp9_ml.recipes import Recipe
from fp9_ml.recipes import recipe as find_recipe


class GradScaler:
    """Loss scaler that follows the loss scaling rule of a training recipe.

    The interface is that of torch.amp.GradScaler.

        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    With the rule `backoff`, the scaler skips the same steps and uses the same loss scales as torch's GradScaler.
    Between two `update` calls, an optimiser's gradients may be unscaled once, and the optimiser may step once.
    Unscaling multiplies gradients in FP32 by the inverse of the loss scale, as in torch.
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
        as torch does, if the gradients were unscaled since the last `update`.
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
        """Unscale the gradients if the caller has not unscaled them yet, and take a step of the optimiser.

        If the gradients are not finite, the optimiser does not step, and the method returns None.

        Raises RuntimeError, as torch does, if `step` was called for the optimiser since the last `update`.
        """
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update()")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return optimizer.step(*arguments, **options) if self._unscaled[id(optimizer)] else None

    def update(self) -> None:
        """Set the loss scale for the next step.

        Raises RuntimeError if no gradients were unscaled since the last `update`. Raises ValueError if the loss scale
        has fallen to zero.
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

        Raises ValueError if the state belongs to another loss scaling rule.
        """
        self._machine.load_state_dict(state)


def _gradients(optimizer: Optimizer) -> list[torch.Tensor]:
    return [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
