"""Claims of papers, how they are measured here, and the limits (bars) that measured values must meet."""

from __future__ import annotations

import math
import statistics
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
"""Names of sources."""


@dataclass(frozen=True)
class Spread:
    """What a quantity was on some seeds, from the first one on; its bar was set from that."""

    first: int
    found: tuple[float, ...]

    @property
    def text(self) -> str:
        """Return the seeds, and the least, the median and the largest value."""
        least, largest = min(self.found), max(self.found)
        seeds = f"seeds {self.first} to {self.first + len(self.found) - 1}"
        return f"{seeds}: {least:.3g} to {largest:.3g}, median {statistics.median(self.found):.3g}"


@dataclass(frozen=True)
class Bar:
    """Limit on measured values: a quantity must be at most, or at least, a limit."""

    text: str
    quantity: Callable[[Values], float]
    limit: float
    at_most: bool
    spread: Spread | None = None
    """What the limit was computed from, where it was."""

    def holds(self, values: Values) -> bool:
        """Return whether the values meet the limit."""
        found = self.quantity(values)
        return found <= self.limit if self.at_most else found >= self.limit


@dataclass(frozen=True)
class Claim:
    """Claim with its source, its set-up, the measurement for one seed, and its limits.

    `measure` takes a seed, a progress callback, and a store for partial results. `quantity` describes the values;
    values named "PREFIX(bias=B)" are curves over B in the chart. `minutes` is the time of one seed on one core,
    for claims that are too slow for a test. Such a claim is only in its record.
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
    """Return an upper limit."""
    return Bar(text, quantity, limit, True)


def at_most_twice(text: str, quantity: Callable[[Values], float], spread: Spread) -> Bar:
    """Return a bar at twice the largest value of a spread, rounded up to two decimals.

    Errors of gradients have a long tail: a mean and three standard deviations of ten seeds fail on one seed in twenty.
    """
    return Bar(text, quantity, math.ceil(200 * max(spread.found)) / 100, True, spread)


def at_least(text: str, quantity: Callable[[Values], float], limit: float) -> Bar:
    """Return a lower limit."""
    return Bar(text, quantity, limit, False)


def over(first: str, second: str) -> Callable[[Values], float]:
    """Return a function that divides one value by another."""
    return lambda v: v[first] / v[second]


def value(name: str) -> Callable[[Values], float]:
    """Return a function that reads one value."""
    return lambda v: v[name]


def excess(first: str, second: str) -> Callable[[Values], float]:
    """Return a function that subtracts one value from another."""
    return lambda v: v[first] - v[second]
