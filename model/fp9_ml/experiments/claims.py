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


@dataclass(frozen=True)
class Spread:
    """Values of one quantity for the consecutive random seeds from `first` on."""

    first: int
    found: tuple[float, ...]

    @property
    def text(self) -> str:
        least, largest = min(self.found), max(self.found)
        seeds = f"seeds {self.first} to {self.first + len(self.found) - 1}"
        return f"{seeds}: {least:.3g} to {largest:.3g}, median {statistics.median(self.found):.3g}"


@dataclass(frozen=True)
class Bar:
    """Upper or lower limit of a measured quantity."""

    text: str
    quantity: Callable[[Values], float]
    limit: float
    at_most: bool
    # Measured values from which the limit was computed.
    spread: Spread | None = None

    def holds(self, values: Values) -> bool:
        found = self.quantity(values)
        return found <= self.limit if self.at_most else found >= self.limit


@dataclass(frozen=True)
class Claim:
    """Claim of a paper, an experiment that tests the claim, and limits of the measured values.

    Values with names of the form "PREFIX(bias=B)" are drawn as a curve against the exponent bias B. `minutes` is the
    run time of the experiment on one core, or 0 for a fast experiment.
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
    return Bar(text, quantity, limit, True)


def at_most_twice(text: str, quantity: Callable[[Values], float], spread: Spread) -> Bar:
    # The relative errors of gradients are sometimes much larger than usual. The mean of ten seeds plus three standard
    # deviations would be too low a limit: one seed in twenty would exceed it.
    return Bar(text, quantity, math.ceil(200 * max(spread.found)) / 100, True, spread)


def at_least(text: str, quantity: Callable[[Values], float], limit: float) -> Bar:
    return Bar(text, quantity, limit, False)


def over(first: str, second: str) -> Callable[[Values], float]:
    return lambda v: v[first] / v[second]


def value(name: str) -> Callable[[Values], float]:
    return lambda v: v[name]


def excess(first: str, second: str) -> Callable[[Values], float]:
    return lambda v: v[first] - v[second]
