"""Claims of papers on 8-bit training: measurements, and limits of the measured values."""

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
"""Names of the papers, as the claims cite them."""


@dataclass(frozen=True)
class Spread:
    """Values of one quantity that were measured on consecutive random seeds to find a limit.

    `first` is the first seed.
    """

    first: int
    found: tuple[float, ...]

    @property
    def text(self) -> str:
        """Return a text that states the random seeds and the smallest, median and largest measured value."""
        least, largest = min(self.found), max(self.found)
        seeds = f"seeds {self.first} to {self.first + len(self.found) - 1}"
        return f"{seeds}: {least:.3g} to {largest:.3g}, median {statistics.median(self.found):.3g}"


@dataclass(frozen=True)
class Bar:
    """Limit of a measured quantity: an upper limit if `at_most` is true, otherwise a lower limit."""

    text: str
    quantity: Callable[[Values], float]
    limit: float
    at_most: bool
    spread: Spread | None = None
    """Values from which the limit was computed, or None."""

    def holds(self, values: Values) -> bool:
        """Return whether the measured values respect the limit."""
        found = self.quantity(values)
        return found <= self.limit if self.at_most else found >= self.limit


@dataclass(frozen=True)
class Claim:
    """Claim of a paper: the source, the experiment, the function that measures one random seed, and the limits.

    `measure` takes a random seed, a progress callback, and a store for partial results. `quantity` describes the
    measured values in words. A chart draws the measured values named "PREFIX(bias=B)" as a curve over the exponent bias
    B. `minutes` is the measurement's run time for one random seed on one core. `minutes` is 0 for a claim that a fast
    test can measure. A claim that takes minutes is not measured in the tests: the tests check its stored record.
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
    """Return an upper limit: the measured quantity must be at most `limit`."""
    return Bar(text, quantity, limit, True)


def at_most_twice(text: str, quantity: Callable[[Values], float], spread: Spread) -> Bar:
    """Return an upper limit: twice the largest value of `spread`, rounded up to two decimals.

    The relative errors of gradients have a distribution with a long tail. A limit of the mean plus three standard
    deviations (of ten seeds) would fail for one seed in twenty.
    """
    return Bar(text, quantity, math.ceil(200 * max(spread.found)) / 100, True, spread)


def at_least(text: str, quantity: Callable[[Values], float], limit: float) -> Bar:
    """Return a lower limit: the measured quantity must be at least `limit`."""
    return Bar(text, quantity, limit, False)


def over(first: str, second: str) -> Callable[[Values], float]:
    """Return a function that computes the quotient of two named measured values, `first` / `second`."""
    return lambda v: v[first] / v[second]


def value(name: str) -> Callable[[Values], float]:
    """Return a function that reads the measured value named `name`."""
    return lambda v: v[name]


def excess(first: str, second: str) -> Callable[[Values], float]:
    """Return a function that computes the difference of two named measured values, `first` - `second`."""
    return lambda v: v[first] - v[second]
