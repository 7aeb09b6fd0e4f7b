"""A claim of a paper, how it is measured here, and the bars that a measurement has to pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from fp9_ml.experiments.store import Store

Values: TypeAlias = dict[str, float]
Progress: TypeAlias = Callable[[str, int, int], None]

HIF8 = "HiFloat8 (Luo et al., arXiv 2409.16626)"
HFP8 = "HFP8 (Sun et al., NeurIPS 2019)"
GRAPHCORE = "Graphcore (Noune et al., arXiv 2206.02915)"
WANG = "Wang et al. (NeurIPS 2018)"
"""Sources."""


@dataclass(frozen=True)
class Bar:
    """A statement on measured values: a quantity that is at most, or else at least, a limit."""

    text: str
    quantity: Callable[[Values], float]
    limit: float
    at_most: bool

    def holds(self, values: Values) -> bool:
        """Whether the values pass."""
        found = self.quantity(values)
        return found <= self.limit if self.at_most else found >= self.limit


@dataclass(frozen=True)
class Claim:
    """A claim with its source, the set-up that tries it, the measurement of one seed, and its bars.

    `measure` is asked with a seed, whom to tell of progress, and where to keep what is done. `quantity` is what the
    values are; those named "PREFIX(bias=B)" are curves over B in the chart. `minutes` of one core are what a seed takes
    where that is too long for a test: such a claim stands in its record alone.
    """

    name: str
    claim: str
    source: str
    setup: str
    quantity: str
    measure: Callable[[int, Progress | None, Store], Values]
    bars: tuple[Bar, ...]
    minutes: float = 0


def at_most(text: str, quantity: Callable[[Values], float], limit: float) -> Bar:
    """A bar from above."""
    return Bar(text, quantity, limit, True)


def at_least(text: str, quantity: Callable[[Values], float], limit: float) -> Bar:
    """A bar from below."""
    return Bar(text, quantity, limit, False)


def over(first: str, second: str) -> Callable[[Values], float]:
    """One value over another."""
    return lambda v: v[first] / v[second]


def value(name: str) -> Callable[[Values], float]:
    """One value."""
    return lambda v: v[name]


def excess(first: str, second: str) -> Callable[[Values], float]:
    """One value less another."""
    return lambda v: v[first] - v[second]
