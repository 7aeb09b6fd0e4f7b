"""Scales of tensors: rules as records, and the machines that carry them out step by step.

A rule says how a tensor's factor is found; `start(fmt)` makes the machine of one tensor that is cast to `fmt`. In each
step `step(x)` gives the factor by which x is multiplied before its cast. amax is the largest magnitude of a tensor: NaN
is left out, an infinity counts. Where amax is 0 or not finite, a factor stays what it was (`Current`: is 1).

Sources: Transformer Engine's `DelayedScaling` and `Float8CurrentScaling` (recipes and update kernel); HiFloat8 (Luo et
al., arXiv 2409.16626) section 5.1 for `Periodic`.
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
"""Largest exponent of a factor that is a power of two, up or down."""


def amax(x: ArrayLike) -> float:
    """The largest magnitude of a tensor: NaN left out, infinities counted, 0 for no elements."""
    array = np.asarray(x)
    if array.size == 0:
        return 0.0
    low, high = float(np.fmin.reduce(array, axis=None)), float(np.fmax.reduce(array, axis=None))
    largest = max(-low, high)
    return 0.0 if math.isnan(largest) else largest


def factor_onto(top: float, largest: float, power_of_two: bool) -> float | None:
    """The factor that brings the magnitude `largest` to `top`; None where it is 0 or not finite in FP32.

    A power of two: 2^floor(log2(top / largest)), exactly. Else top / largest in FP32, as Transformer Engine computes
    it. Factors end at the largest and at the smallest normal number of FP32 (powers of two at 2^127 and 2^-127).
    """
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
    """The factors of one tensor, step by step."""

    @abc.abstractmethod
    def factor(self, x: ArrayLike) -> float:
        """The factor of x in this step; the machine stays where it is (a forward pass of an evaluation)."""

    def observe(self, x: ArrayLike) -> None:
        """See the tensor of this step, and go on to the next."""

    def step(self, x: ArrayLike) -> float:
        """The factor of x, which is then observed."""
        factor = self.factor(x)
        self.observe(x)
        return factor


class ScaleRule(abc.ABC):
    """How a tensor's factor is found."""

    kind: ClassVar[str]

    @abc.abstractmethod
    def start(self, fmt: Format) -> Scaler:
        """The machine of one tensor that is cast to `fmt`."""

    @property
    def is_exact(self) -> bool:
        """Whether factors are powers of two, so that the cast rounds once."""
        return True

    @property
    def is_identity(self) -> bool:
        """Whether nothing is scaled."""
        return False


@dataclass(frozen=True)
class Fixed(ScaleRule):
    """x is multiplied by 2^exponent, always. Raises ValueError for exponents outside -127..127."""

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
    """amax of the tensor itself is brought to the format's largest number / 2^margin, or to `top` / 2^margin.

    Transformer Engine's `Float8CurrentScaling`; factors are any FP32 number unless `power_of_two`. The factor of a
    tensor of zeros, or with an infinity, is 1.
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
"""What the delayed factor takes of its history."""


@dataclass(frozen=True)
class Delayed(ScaleRule):
    """The amaxes of the last `history` steps, this one left out, give the factor: (largest number / 2^margin) / amax.

    Transformer Engine's `DelayedScaling`: `algo` "max" takes the largest of the history, "most_recent" the last one;
    where that is 0 or not finite, the factor stays; the first step has 1. A history that is still shorter than
    `history` is taken as far as it goes. Values beyond the format's largest number are clipped by the cast. With
    `power_of_two` factors are 2^floor(log2((largest number) / amax) - margin), Transformer Engine's older rule; without
    it they are any FP32 number, as in its present one.
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
    """Every `interval` steps amax of the tensor gives a new factor, a power of two; until the first it is 1.

    HiF8's per-tensor scaling in training (section 5.1: every 10 iterations, factors start at 1). The paper says "by a
    certain algorithm"; here amax comes into (top/2, top]. HiF8 has its 3 fraction bits up to 2^4 alone, so that the top
    of the range is the wrong place: `top` is 8, which leaves seven binades of full precision below. Steps 0 to
    interval - 1 have the factor 1, step `interval` is the first to be measured.
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
    """A power of two that a search of exponents has set (`fp9_ml.torch.calibrate`); 1 before, as for gradients."""

    kind: ClassVar[str] = "searched"

    def start(self, fmt: Format) -> Scaler:
        return SearchedScaler()


class SearchedScaler(Scaler):
    """The factor that was set last."""

    remembers = ("last",)

    def __init__(self) -> None:
        self.last = 1.0

    def set(self, exponent: int) -> None:
        """Multiply by 2^exponent from now on."""
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
"""The rules by name."""
