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
    """Measured values of one quantity, from which a limit was derived. Each value has another random seed.

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
    """Limit that a measured quantity must respect. If `at_most` is true, the limit is an upper limit."""

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
    """Claim of a paper, the experiment that tests the claim, and the limits that the measured values must respect.

    `measure(seed, progress, store)` runs the experiment with a random seed, and returns the measured values by name.
    `quantity` describes the measured values in words. Values with names of the form "PREFIX(bias=B)" are drawn as a
    curve over the exponent bias B. `minutes` is the run time of the experiment on one core, or 0 for a fast experiment.
    The tests run only fast experiments, and check the stored records of all others.
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

    The relative errors of gradients are sometimes much larger than usual. The mean of ten seeds plus three standard
    deviations would be too low a limit: one seed in twenty would exceed it.
    """
    return Bar(text, quantity, math.ceil(200 * max(spread.found)) / 100, True, spread)


def at_least(text: str, quantity: Callable[[Values], float], limit: float) -> Bar:
    """Return a lower limit: the measured quantity must be at least `limit`."""
    return Bar(text, quantity, limit, False)


def over(first: str, second: str) -> Callable[[Values], float]:
    """Return a function that divides the measured value named `first` by the measured value named `second`."""
    return lambda v: v[first] / v[second]


def value(name: str) -> Callable[[Values], float]:
    """Return a function that reads the measured value named `name`."""
    return lambda v: v[name]


def excess(first: str, second: str) -> Callable[[Values], float]:
    """Return a function that subtracts the measured value named `second` from the measured value named `first`."""
    return lambda v: v[first] - v[second]
