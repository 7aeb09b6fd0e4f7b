"""Loss scaling rules that adapt to gradient magnitudes (`LogMax`) or overflows (`Adaptive`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fp9.formats import Format
from fp9_ml.recipes.loss import LossRule, LossScaler, check_positive, grown, shrunk

# Upper bound on the logarithm of a float64 number.
_LARGEST_LOG = 1024


@dataclass(frozen=True)
class LogMax(LossRule):
    """Loss scaling rule that predicts the largest gradient magnitude (Noune et al., arXiv 2206.02915, section 4).

    The amax is the largest magnitude of a step's weight gradients after division by the loss scale. The loss scale is
    `2^(log_max - mu - deviations * sigma)`, with the running mean mu and the standard deviation sigma of log2 amax. The
    paper does not define how the mean mu and the deviation sigma are averaged over steps. Like OpenSeq2Seq, fp9
    computes the mean mu and the standard deviation sigma from exponential averages with bias correction. `mean_decay`
    is the decay factor of the averages for the mean, and `spread_decay` is the decay factor of the averages for the
    standard deviation.

    The paper's best results use `deviations` = 0, and OpenSeq2Seq uses `deviations` = 3.09. If `log_max` is None, the
    rule uses log2 of the largest number in the gradient format. OpenSeq2Seq uses `log_max` = 16 for every format. The
    loss scale starts at `start_scale`, and stays between `smallest` and `largest`. If `power_of_two` is true, the loss
    scale is rounded down to a power of two. A training step whose gradients contain an infinity or NaN is dropped. The
    averages count a dropped step as a step whose largest gradient magnitude is 2 to the power of `log_max`. If all
    gradients of a step are zero, the loss scale does not change.
    """

    kind: ClassVar[str] = "logmax"
    deviations: float = 0.0
    mean_decay: float = 0.99
    spread_decay: float = 0.999
    log_max: float | None = None
    start_scale: float = 1.0
    smallest: float = 1.0
    largest: float = 2.0**24
    power_of_two: bool = True

    def __post_init__(self) -> None:
        check_positive(self.kind, start_scale=self.start_scale, smallest=self.smallest, largest=self.largest)
        if not (0 < self.mean_decay < 1 and 0 < self.spread_decay < 1):
            raise ValueError(
                f"logmax: decays {self.mean_decay} and {self.spread_decay} given; give two between 0 and 1"
            )
        for name, number in (("deviations", self.deviations), ("log_max", self.log_max or 0.0)):
            if not abs(number) <= _LARGEST_LOG:
                raise ValueError(
                    f"logmax: {name}={number:g} given; give a number from {-_LARGEST_LOG} to {_LARGEST_LOG}"
                )
        if self.smallest > self.largest:
            raise ValueError(f"logmax: scales in [{self.smallest:g}, {self.largest:g}] given; give the smaller first")

    def start(self, fmt: Format) -> LossScaler:
        return _LogMaxScaler(self, math.log2(fmt.max) if self.log_max is None else self.log_max)


class _LogMaxScaler(LossScaler):
    remembers = ("scale", "steps", "mean", "slow_mean", "square")

    def __init__(self, rule: LogMax, log_max: float) -> None:
        self._rule, self._log_max = rule, log_max
        self.scale = rule.start_scale
        self.steps = 0
        self.mean = self.slow_mean = self.square = 0.0

    def update(self, finite: bool, amax: float | None = None) -> bool:
        if finite and (amax is None or not math.isfinite(amax) or amax < 0):
            raise ValueError(f"logmax: amax {amax} given; give the largest magnitude of the gradients, unscaled")
        if finite and amax == 0:
            return True
        self._average(math.log2(amax) if finite and amax else self._log_max)
        self.scale = self._proposed()
        return finite

    def _average(self, value: float) -> None:
        fast, slow = self._rule.mean_decay, self._rule.spread_decay
        self.steps += 1
        self.mean = fast * self.mean + (1 - fast) * value
        self.slow_mean = slow * self.slow_mean + (1 - slow) * value
        self.square = slow * self.square + (1 - slow) * value * value

    @property
    def moments(self) -> tuple[float, float]:
        fast, slow = 1 - self._rule.mean_decay**self.steps, 1 - self._rule.spread_decay**self.steps
        variance = self.square / slow - (self.slow_mean / slow) ** 2
        return self.mean / fast, math.sqrt(max(variance, 0.0))

    def _proposed(self) -> float:
        mu, sigma = self.moments
        exponent = self._log_max - (mu + self._rule.deviations * sigma)
        low, high = math.log2(self._rule.smallest), math.log2(self._rule.largest)
        exponent = min(max(exponent, low), high)
        return 2.0 ** (math.floor(exponent) if self._rule.power_of_two else exponent)


# Window lengths of HiFloat8's loss scaling (section 5.1), in steps.
WINDOWS = (1, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Adaptive(LossRule):
    """Loss scaling rule that also adapts the number of steps after which it doubles the scale.

    The scale is doubled after `window` consecutive steps with finite gradients, and halved after a step with an
    infinity or NaN. After three doublings of the scale, the rule changes to the next larger window in `windows`. After
    three halvings of the scale, the rule changes to the next smaller window in `windows`. The source is HiFloat8 (Luo
    et al., arXiv 2409.16626) section 5.1.

    The HiFloat8 paper does not define the following details, but links to the library MindFormers. As in MindFormers,
    doubling the scale resets the count of halvings to 0. Halving the scale does not reset the count of doublings. After
    three doublings or three halvings, the rule resets the count of doublings and the count of halvings to 0. The scale
    is at least `smallest` = 1, as in MindFormers, and at most FP32's largest number.
    """

    kind: ClassVar[str] = "adaptive"
    start_scale: float = 2.0**32
    windows: tuple[int, ...] = WINDOWS
    window: int = 20
    changes: int = 3
    smallest: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self.kind, start_scale=self.start_scale, smallest=self.smallest)
        rising = all(a < b for a, b in zip(self.windows, self.windows[1:], strict=False))
        if not self.windows or self.windows[0] < 1 or not rising:
            raise ValueError(f"adaptive: windows {self.windows} given; give numbers of steps in rising order")
        if self.window not in self.windows:
            raise ValueError(f"adaptive: window {self.window} given; give one of {', '.join(map(str, self.windows))}")
        if self.changes < 1:
            raise ValueError(f"adaptive: {self.changes} changes given; give 1 or more")

    def start(self, fmt: Format) -> LossScaler:
        return _AdaptiveScaler(self)


class _AdaptiveScaler(LossScaler):
    remembers = ("scale", "place", "clean", "ups", "downs")

    def __init__(self, rule: Adaptive) -> None:
        self._rule = rule
        self.scale = float(np.float32(rule.start_scale))
        self.place = rule.windows.index(rule.window)
        self.clean = self.ups = self.downs = 0

    @property
    def window(self) -> int:
        return self._rule.windows[self.place]

    def update(self, finite: bool, amax: float | None = None) -> bool:
        if not finite:
            self.scale, self.clean = max(shrunk(self.scale, 0.5), self._rule.smallest), 0
            self.downs += 1
            if self.downs >= self._rule.changes:
                self._move(-1)
            return False
        self.clean += 1
        if self.clean >= self.window:
            self.scale, self.clean, self.downs = grown(self.scale, 2.0), 0, 0
            self.ups += 1
            if self.ups >= self._rule.changes:
                self._move(1)
        return True

    def _move(self, step: int) -> None:
        self.place = min(max(self.place + step, 0), len(self._rule.windows) - 1)
        self.ups = self.downs = 0

    def check_state(self, state: Mapping[str, Any]) -> None:
        super().check_state(state)
        if state["place"] not in range(len(self._rule.windows)):
            raise ValueError(
                f"state of adaptive loss scaling: window number {state['place']} given; the rule has "
                f"{len(self._rule.windows)} windows: load the state of the same rule"
            )
