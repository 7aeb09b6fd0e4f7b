"""Loss scaling rules for training, and scalers that adapt the loss scale in each step."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fp9.formats import Format
from fp9_ml.recipes.scaling import FP32_MAX
from fp9_ml.recipes.state import Stateful

FP32_SMALLEST = float(np.finfo(np.float32).smallest_subnormal)


class LossScaler(Stateful, abc.ABC):
    """Loss scale that is adapted after each step of a training run."""

    scale: float

    @abc.abstractmethod
    def update(self, finite: bool, amax: float | None = None) -> bool:
        """Set the loss scale for the next training step, and return false if the present step must be dropped.

        `finite` states whether the loss and all gradients are finite. `amax` is the largest magnitude of all weight
        gradients after division by the loss scale. Only `LogMax` needs `amax`.
        """

    def check_state(self, state: Mapping[str, Any]) -> None:
        super().check_state(state)
        check_positive("state of a loss scaler", scale=state["scale"])


class LossRule(abc.ABC):
    """Rule that determines the loss scale in every training step."""

    kind: ClassVar[str]

    @abc.abstractmethod
    def start(self, fmt: Format) -> LossScaler:
        """Return a loss scaler for a training run whose gradients are cast to `fmt`."""


def check_positive(kind: str, **numbers: float | None) -> None:
    for name, number in numbers.items():
        if number is not None and not FP32_SMALLEST <= number <= FP32_MAX:
            raise ValueError(f"{kind}: {name}={number} given; give a number above zero that FP32 has room for")


@dataclass(frozen=True)
class Constant(LossRule):
    """Constant loss scale.

    A training step whose gradients contain an infinity or NaN is dropped. Wang et al. (NeurIPS 2018) use 1000.
    """

    kind: ClassVar[str] = "constant"
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self.kind, scale=self.scale)

    def start(self, fmt: Format) -> LossScaler:
        return _ConstantScaler(self.scale)


class _ConstantScaler(LossScaler):
    remembers = ("scale",)

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def update(self, finite: bool, amax: float | None = None) -> bool:
        return finite


@dataclass(frozen=True)
class Backoff(LossRule):
    """Loss scaling rule that multiplies the scale by `growth` after `window` consecutive steps without overflow.

    If the gradients have an infinity or NaN, the scale is multiplied by `backoff`, and the training step is dropped.
    The default values and the loss scales are the same as in `torch.amp.GradScaler`. The scale is an FP32 number. A
    step that would raise the scale beyond FP32's range leaves the scale unchanged. `largest` is an upper limit (Apex:
    2^24). Raises ValueError if the loss scale falls to zero, where torch would continue the training.
    """

    kind: ClassVar[str] = "backoff"
    start_scale: float = 2.0**16
    growth: float = 2.0
    backoff: float = 0.5
    window: int = 2000
    largest: float | None = None

    def __post_init__(self) -> None:
        check_positive(self.kind, start_scale=self.start_scale, largest=self.largest)
        if not (self.growth > 1 and math.isfinite(self.growth) and 0 < self.backoff < 1):
            raise ValueError(
                f"backoff: growth={self.growth} and backoff={self.backoff} given; give one above 1 and one in (0, 1)"
            )
        if self.window < 1:
            raise ValueError(f"backoff: window of {self.window} steps given; give 1 or more")

    def start(self, fmt: Format) -> LossScaler:
        return _BackoffScaler(self)


class _BackoffScaler(LossScaler):
    remembers = ("scale", "clean")

    def __init__(self, rule: Backoff) -> None:
        self._rule = rule
        self.scale = float(np.float32(rule.start_scale))
        self.clean = 0

    def update(self, finite: bool, amax: float | None = None) -> bool:
        if not finite:
            self.scale, self.clean = shrunk(self.scale, self._rule.backoff), 0
            return False
        self.clean += 1
        if self.clean >= self._rule.window:
            self.scale, self.clean = grown(self.scale, self._rule.growth, self._rule.largest), 0
        return True


def grown(scale: float, factor: float, largest: float | None = None) -> float:
    with np.errstate(over="ignore"):
        product = float(np.float32(scale * factor))
    product = product if math.isfinite(product) else scale
    return product if largest is None else min(product, largest)


def shrunk(scale: float, factor: float) -> float:
    product = float(np.float32(scale * factor))
    if product == 0:
        raise ValueError(
            f"the loss scale has fallen from {scale:g} to zero: no step was finite, whatever its scale; look for the "
            "first loss or gradient that is infinite or NaN"
        )
    return product
