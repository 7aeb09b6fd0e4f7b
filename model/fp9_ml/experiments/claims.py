"""Claims of papers: how they are measured here, and the limits (bars) for the measured values."""

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
"""Names of papers, as the claims cite them."""


@dataclass(frozen=True)
class Spread:
    """Values of a quantity on consecutive seeds, from which a limit is computed. The first seed is `first`."""

    first: int
    found: tuple[float, ...]

    @property
    def text(self) -> str:
        """Return a text with the seeds, the least, the median and the largest value."""
        least, largest = min(self.found), max(self.found)
        seeds = f"seeds {self.first} to {self.first + len(self.found) - 1}"
        return f"{seeds}: {least:.3g} to {largest:.3g}, median {statistics.median(self.found):.3g}"


@dataclass(frozen=True)
class Bar:
    """Limit for measured values. The quantity must be at most, or at least, this limit."""

    text: str
    quantity: Callable[[Values], float]
    limit: float
    at_most: bool
    spread: Spread | None = None
    """Values from which the limit was computed, if any."""

    def holds(self, values: Values) -> bool:
        """Return whether the measured values meet the limit."""
        found = self.quantity(values)
        return found <= self.limit if self.at_most else found >= self.limit


@dataclass(frozen=True)
class Claim:
    """Claim of a paper, with its source, its set-up, a measurement for one seed, and limits.

    `measure` takes a seed, a progress callback, and a store for partial results. `quantity` describes the values.
    Values named "PREFIX(bias=B)" are drawn as a curve over B. `minutes` is the time for one seed on one core. Only
    a claim that is too slow for a test has `minutes`. For such a claim, the tests check only the stored record.
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
    """Return a limit: the quantity must be at most `limit`."""
    return Bar(text, quantity, limit, True)


def at_most_twice(text: str, quantity: Callable[[Values], float], spread: Spread) -> Bar:
    """Return a limit: the quantity must be at most twice the largest value of a spread, rounded up to two decimals.

    Errors of gradients have a distribution with a long tail. A limit at the mean plus three standard deviations of
    ten seeds would fail on one seed in twenty.
    """
    return Bar(text, quantity, math.ceil(200 * max(spread.found)) / 100, True, spread)


def at_least(text: str, quantity: Callable[[Values], float], limit: float) -> Bar:
    """Return a limit: the quantity must be at least `limit`."""
    return Bar(text, quantity, limit, False)


def over(first: str, second: str) -> Callable[[Values], float]:
    """Return a function that divides the value `first` by the value `second`."""
    return lambda v: v[first] / v[second]


def value(name: str) -> Callable[[Values], float]:
    """Return a function that reads the value with this name."""
    return lambda v: v[name]


def excess(first: str, second: str) -> Callable[[Values], float]:
    """Return a function that subtracts the value `second` from the value `first`."""
    return lambda v: v[first] - v[second]
