"""Scaling rules of tensors, and scalers that compute a tensor's scale factor in each step.

The amax of a tensor is its largest magnitude. A NaN does not affect the amax, but an infinity does. If the amax is 0 or
not finite, the rule `Current` sets the scale factor to 1, and all other rules keep the old value.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fp9.formats import Format
from fp9.formats.host import BINARY32
from fp9_ml.recipes.state import Stateful

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FP32_MAX = float(np.finfo(np.float32).max)
FP32_SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)
MAX_EXPONENT = BINARY32.bias


def amax(x: ArrayLike) -> float:
    """Return the largest magnitude in a tensor, or 0 for an empty tensor. NaN is ignored, but infinity is not."""
    array = np.asarray(x)
    if array.size == 0:
        return 0.0
    low, high = float(np.fmin.reduce(array, axis=None)), float(np.fmax.reduce(array, axis=None))
    largest = max(-low, high)
    return 0.0 if math.isnan(largest) else largest


def factor_onto(top: float, largest: float, power_of_two: bool) -> float | None:
    # Powers of two are exactly 2^floor(log2(top / largest)). Other factors are rounded in FP32, as in Transformer
    # Engine.
    with np.errstate(over="ignore"):
        narrow = np.float32(largest)
    if not np.isfinite(narrow) or narrow <= 0:
        return None
    if power_of_two:
        (top_fraction, top_exponent), (fraction, exponent) = math.frexp(top), math.frexp(largest)
        floor = top_exponent - exponent - (top_fraction < fraction)
        return math.ldexp(1.0, max(-MAX_EXPONENT, min(floor, MAX_EXPONENT)))
    with np.errstate(over="ignore"):
        return min(max(float(np.float32(top) / narrow), FP32_SMALLEST_NORMAL), FP32_MAX)


class Scaler(Stateful, abc.ABC):
    """Computes the scale factor of one tensor for every training step."""

    @abc.abstractmethod
    def factor(self, x: ArrayLike) -> float:
        """Return the scale factor for `x` in the current step, without changing the scaler's state."""

    def observe(self, x: ArrayLike) -> None:
        """Update the scaler's state with the tensor `x`, so that `x` influences later scale factors."""

    def step(self, x: ArrayLike) -> float:
        """Return the scale factor for the tensor `x`, and update the scaler."""
        factor = self.factor(x)
        self.observe(x)
        return factor


class ScaleRule(abc.ABC):
    """Rule that determines the scale factor by which a tensor is multiplied before its cast."""

    kind: ClassVar[str]

    @abc.abstractmethod
    def start(self, fmt: Format) -> Scaler:
        """Return a scaler for one tensor that is cast to `fmt`."""

    @property
    def is_exact(self) -> bool:
        """Return whether all scale factors are powers of two, so that a cast rounds only once."""
        return True

    @property
    def is_identity(self) -> bool:
        """Return whether all scale factors are 1."""
        return False


@dataclass(frozen=True)
class Fixed(ScaleRule):
    """Constant scale factor 2^exponent. Raises ValueError for exponents outside -127..127."""

    kind: ClassVar[str] = "fixed"
    exponent: int = 0

    def __post_init__(self) -> None:
        if abs(self.exponent) > MAX_EXPONENT:
            raise ValueError(f"fixed: exponent {self.exponent} given; give one in -{MAX_EXPONENT}..{MAX_EXPONENT}")

    @property
    def is_identity(self) -> bool:
        return self.exponent == 0

    def start(self, fmt: Format) -> Scaler:
        return _FixedScaler(math.ldexp(1.0, self.exponent))


class _FixedScaler(Scaler):
    def __init__(self, factor: float) -> None:
        self._factor = factor

    def factor(self, x: ArrayLike) -> float:
        return self._factor


@dataclass(frozen=True)
class Current(ScaleRule):
    """Scaling rule that uses the tensor's current amax, as in Transformer Engine's `Float8CurrentScaling`.

    The scale factor is `top` / 2^margin, divided by the amax. The default for `top` is the largest number of the
    tensor's format. The factor is an FP32 number, or a power of two if `power_of_two` is true. The factor is 1 if the
    tensor has only zeros, or has an infinity.
    """

    kind: ClassVar[str] = "current"
    power_of_two: bool = False
    margin: int = 0
    top: float | None = None

    def __post_init__(self) -> None:
        _check_top(self.kind, self.top, self.margin)

    @property
    def is_exact(self) -> bool:
        return self.power_of_two

    def start(self, fmt: Format) -> Scaler:
        return _CurrentScaler(_top(fmt, self.top, self.margin), self.power_of_two)


class _CurrentScaler(Scaler):
    def __init__(self, top: float, power_of_two: bool) -> None:
        self._top, self._power_of_two = top, power_of_two

    def factor(self, x: ArrayLike) -> float:
        factor = factor_onto(self._top, amax(x), self._power_of_two)
        return 1.0 if factor is None else factor


ALGORITHMS = ("max", "most_recent")


@dataclass(frozen=True)
class Delayed(ScaleRule):
    """Scaling rule that uses the amaxes of the last `history` steps, as in Transformer Engine's `DelayedScaling`.

    The scale factor is the format's largest number, divided by 2^margin and by the amax. The current step is not part
    of the history. The scale factor of the first step is 1. With `algo` "max", the rule uses the largest amax in the
    history, and with "most_recent" the last amax. If the amax that the rule uses is 0 or not finite, the scale factor
    does not change. If `power_of_two` is true, the scale factor is rounded down to a power of two, as in older versions
    of Transformer Engine.
    """

    kind: ClassVar[str] = "delayed"
    history: int = 1024
    margin: int = 0
    algo: str = "max"
    power_of_two: bool = True
    top: float | None = None

    def __post_init__(self) -> None:
        _check_top(self.kind, self.top, self.margin)
        if self.history < 1:
            raise ValueError(f"delayed: history of {self.history} amaxes given; give 1 or more")
        if self.algo not in ALGORITHMS:
            raise ValueError(f"delayed: algo {self.algo!r} given; give one of {', '.join(ALGORITHMS)}")

    @property
    def is_exact(self) -> bool:
        return self.power_of_two

    def start(self, fmt: Format) -> Scaler:
        return _DelayedScaler(self, _top(fmt, self.top, self.margin))


class _DelayedScaler(Scaler):
    remembers = ("history", "last")

    def __init__(self, rule: Delayed, top: float) -> None:
        self._rule, self._top = rule, top
        self.history: list[float] = []
        self.last = 1.0

    def factor(self, x: ArrayLike) -> float:
        return self.last

    def observe(self, x: ArrayLike) -> None:
        self.history = [*self.history[-self._rule.history + 1 :], amax(x)] if self._rule.history > 1 else [amax(x)]
        taken = max(self.history) if self._rule.algo == "max" else self.history[-1]
        factor = factor_onto(self._top, taken, self._rule.power_of_two)
        self.last = self.last if factor is None else factor

    def check_state(self, state: Mapping[str, Any]) -> None:
        super().check_state(state)
        history = state["history"]
        if not isinstance(history, list) or not all(isinstance(a, int | float) and a >= 0 for a in history):
            raise ValueError(f"state of delayed scaling: history {history!r} given; give a list of magnitudes")
        if len(history) > self._rule.history:
            raise ValueError(
                f"state of delayed scaling with {len(history)} amaxes given, and the rule keeps {self._rule.history}; "
                f"give the rule history={len(history)} or more"
            )


@dataclass(frozen=True)
class Periodic(ScaleRule):
    """Scaling rule that computes a power-of-two factor from the tensor's amax every `interval` steps.

    Source: HiFloat8's per-tensor scaling in training (section 5.1), which updates the factor every 10 iterations. The
    HiFloat8 paper does not define how the scale factor is computed. In fp9, the scale factor is the power of two that
    brings the tensor's largest magnitude (amax) into the interval (top/2, top]. With the default `top` of 8, magnitudes
    in the six binades below 8 have all 3 fraction bits of HiFloat8. The scale factor is 1 in steps 0 to interval - 1,
    and is first computed in step `interval`.
    """

    kind: ClassVar[str] = "periodic"
    interval: int = 10
    top: float | None = 8.0

    def __post_init__(self) -> None:
        _check_top(self.kind, self.top, 0)
        if self.interval < 1:
            raise ValueError(f"periodic: interval of {self.interval} steps given; give 1 or more")

    def start(self, fmt: Format) -> Scaler:
        return _PeriodicScaler(self.interval, _top(fmt, self.top, 0))


class _PeriodicScaler(Scaler):
    remembers = ("steps", "last")

    def __init__(self, interval: int, top: float) -> None:
        self._interval, self._top = interval, top
        self.steps = 0
        self.last = 1.0

    def factor(self, x: ArrayLike) -> float:
        if self.steps == 0 or self.steps % self._interval:
            return self.last
        factor = factor_onto(self._top, amax(x), power_of_two=True)
        return self.last if factor is None else factor

    def observe(self, x: ArrayLike) -> None:
        self.last = self.factor(x)
        self.steps += 1


@dataclass(frozen=True)
class Searched(ScaleRule):
    """Scaling rule whose power-of-two factors are found by `fp9_ml.torch.calibrate`.

    Before `calibrate` is called, all scale factors are 1. The scale factor of gradients is always 1.
    """

    kind: ClassVar[str] = "searched"

    def start(self, fmt: Format) -> Scaler:
        return SearchedScaler()


class SearchedScaler(Scaler):
    """Scaler whose scale factor is set by the caller."""

    remembers = ("last",)

    def __init__(self) -> None:
        self.last = 1.0

    def set(self, exponent: int) -> None:
        """Set the scale factor to 2^exponent."""
        self.last = math.ldexp(1.0, Fixed(exponent).exponent)

    def factor(self, x: ArrayLike) -> float:
        return self.last


def _check_top(kind: str, top: float | None, margin: int) -> None:
    if top is not None and not (math.isfinite(top) and top > 0):
        raise ValueError(f"{kind}: top {top} given; give a number above zero, or none for the format's largest")
    if abs(margin) > MAX_EXPONENT:
        raise ValueError(f"{kind}: margin {margin} given; give one in -{MAX_EXPONENT}..{MAX_EXPONENT}")


def _top(fmt: Format, top: float | None, margin: int) -> float:
    return math.ldexp(fmt.max if top is None else top, -margin)


SCALES: dict[str, type[ScaleRule]] = {rule.kind: rule for rule in (Fixed, Current, Delayed, Periodic, Searched)}
"""Scaling rules of tensors, by name."""
