"""Optimizer wrapper for 8-bit weights, which corrects rounding errors in the next step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch.optim import Optimizer

from fp9.casts.arrays import decode, encode
from fp9_ml.recipes import RoundOff
from fp9_ml.torch.products import generator


class RoundOffOptimizer:
    """Wrapper of a torch optimiser that rounds the weights to a narrow format after each step.

        optimizer = ft.RoundOffOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), RoundOff("hfp8_143", "dlfloat16"))

    In each step, the wrapped optimiser first updates the weights in FP32. The rule `RoundOff` then applies the
    optimiser's change to the old rounded weights, and rounds the result. `only` selects the parameters that are
    rounded. By default, all parameters with at least two axes are rounded, so biases and the parameters of norms are
    not rounded. The constructor rounds the selected parameters for the first time. Pass the wrapped optimiser to
    learning rate schedules.

    Raises ValueError for parameters that are not float32, and if `only` selects no parameter.
    """

    def __init__(
        self, optimizer: Optimizer, rule: RoundOff, only: Callable[[torch.Tensor], bool] = lambda p: p.dim() >= 2
    ) -> None:
        self.optimizer, self.rule = optimizer, rule
        self._weights = [p for group in optimizer.param_groups for p in group["params"] if only(p)]
        if not self._weights or any(p.dtype != torch.float32 for p in self._weights):
            kinds = ", ".join(sorted({str(p.dtype) for p in self._weights})) or "none"
            raise ValueError(f"weights of {kinds} given to be kept in {rule.weights.name}; give float32 parameters")
        self._residuals: list[Any] = []
        for p in self._weights:
            codes, residual = rule.start(p.detach().numpy(), self._random())
            self._become(p, codes)
            self._residuals.append(residual)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Return the parameter groups of the wrapped optimiser."""
        groups: list[dict[str, Any]] = self.optimizer.param_groups
        return groups

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of the wrapped optimiser."""
        self.optimizer.zero_grad(set_to_none)

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Take one step of the wrapped optimiser, and round the selected parameters by the rule `RoundOff`.

        Return the loss that the closure returns.

        Raises ValueError, and changes nothing, if a gradient is not finite.
        """
        for p in self._weights:
            if p.grad is not None and not bool(torch.isfinite(p.grad).all()):
                raise ValueError(
                    "a gradient with an infinity or NaN given; scale the loss with fp9_ml.torch.GradScaler"
                )
        before = [p.detach().clone() for p in self._weights]
        loss = self.optimizer.step(closure)
        for place, (p, old) in enumerate(zip(self._weights, before, strict=True)):
            update = (old - p.detach()).numpy()
            codes = np.asarray(encode(old.numpy(), self.rule.weights))
            codes, self._residuals[place] = self.rule.step(codes, self._residuals[place], update, self._random())
            self._become(p, codes)
        return loss

    def _become(self, p: torch.Tensor, codes: Any) -> None:
        with torch.no_grad():
            p.copy_(torch.from_numpy(np.asarray(decode(codes, self.rule.weights), dtype=np.float32)))

    def _random(self) -> np.random.Generator | None:
        mode = self.rule.rounding or self.rule.weights.default_rounding
        return generator() if mode.needs_bits else None

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the wrapped optimiser, and the rounding errors of the last step as codes."""
        residuals = [None if r is None else torch.from_numpy(r.astype(np.int64)) for r in self._residuals]
        return {"optimizer": self.optimizer.state_dict(), "residuals": residuals}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `state_dict` returned.

        Raises ValueError if the residuals in the state do not match the optimiser's weight shapes or update rule.
        """
        fmt, given = self.rule.residual, state["residuals"]
        shapes = [None if r is None else tuple(r.shape) for r in given]
        if shapes != [None if fmt is None else tuple(p.shape) for p in self._weights]:
            raise ValueError(f"residuals of shapes {shapes} given; load the state of the same weights and rule")
        self.optimizer.load_state_dict(dict(state["optimizer"]))
        self._residuals = [None if r is None or fmt is None else r.numpy().astype(fmt.dtype) for r in given]
