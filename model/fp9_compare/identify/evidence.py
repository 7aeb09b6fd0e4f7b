"""Comparison of accumulator models with the sums that a hardware unit computed."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9_compare.identify import fields
from fp9_compare.identify.interface import Interface
from fp9_compare.identify.vectors import Predictions, Vectors, nan_codes

_SHORT = 3
_SHORTENED = 6
"""Number of elements in a shortened sum. Only the first few elements can be nonzero."""

_MANY = 120
"""Number of accumulator models that are ranked by all measured sums. The others are ranked by a sample only."""

PART = 3
"""Stride of the sample by which accumulator models are ranked first. A stride of 3 takes every third sum."""


class Evidence:
    """Sums that a hardware unit computed, with their results.

    The results of each accumulator model are computed once and cached.
    """

    def __init__(self, interface: Interface, vectors: Vectors, results: NDArray[np.uint64]) -> None:
        self.interface, self.vectors, self.results = interface, vectors, results
        self._predictions = Predictions(interface, vectors)
        self._agrees: dict[tuple[Any, ...], NDArray[np.bool_] | None] = {}
        self._first: dict[int, Evidence] = {}
        self._every: dict[int, Evidence] = {}

    def __len__(self) -> int:
        return len(self.vectors)

    def extended(self, vectors: Vectors, results: NDArray[np.uint64]) -> Evidence:
        """Return a copy of the evidence to which the given sums and results are added."""
        return Evidence(self.interface, self.vectors + vectors, np.concatenate([self.results, results]))

    def take(self, rows: NDArray[Any]) -> Evidence:
        """Return a copy of the evidence with only the sums at the given indices."""
        return Evidence(self.interface, self.vectors.take(rows), self.results[rows])

    def every(self, stride: int) -> Evidence:
        """Return the evidence with every `stride`-th sum."""
        if stride not in self._every:
            self._every[stride] = self.take(np.arange(0, len(self), stride))
        return self._every[stride]

    def short(self) -> Evidence:
        """Return the sums that have only a few nonzero products, all at the start. Trailing zeros are removed."""
        io, kept = self.interface, min(self.interface.depth, _SHORTENED)
        part = self.take(np.flatnonzero(self._predictions.reach() <= _SHORT))
        vectors = replace(part.vectors, a=part.vectors.a[:, :kept], b=part.vectors.b[:, :kept])
        return Evidence(replace(io, depth=kept), vectors, part.results)

    def first(self, count: int) -> Evidence:
        """Return the evidence with only the first `count` sums."""
        if count >= len(self):
            return self
        if count not in self._first:
            self._first[count] = self.take(np.arange(count))
        return self._first[count]

    def agrees(self, engine: Engine) -> NDArray[np.bool_] | None:
        """Return a mask of the sums that an accumulator model reproduces.

        If the accumulator model does not support the operand formats, return None.
        """
        key = fields.key(engine)
        if key not in self._agrees:
            found = self._predictions.once(engine)
            self._agrees[key] = None if found is None else found == self.results
        return self._agrees[key]

    def agreement(self, engine: Engine) -> int:
        """Return the number of sums that an accumulator model reproduces.

        If the accumulator model does not support the operand formats, return -1.
        """
        agrees = self.agrees(engine)
        return -1 if agrees is None else int(np.count_nonzero(agrees))

    def explains(self, engine: Engine) -> bool:
        """Return whether an accumulator model reproduces every sum."""
        return self.agreement(engine) == len(self)

    def first_difference(self, engine: Engine) -> int | None:
        """Return the index of the first sum for which an accumulator model predicts a wrong result.

        If the accumulator model reproduces all sums, return None.
        """
        agrees = self.agrees(engine)
        assert agrees is not None, "the engine must accept the operands"
        return None if agrees.all() else int(agrees.argmin())

    @functools.cached_property
    def fields(self) -> tuple[fields.Field, ...]:
        """Return each parameter of an accumulator model with its possible values."""
        return fields.hypotheses(self.interface, nan_codes(self.results))

    @property
    def looked_at(self) -> int:
        """Return the number of accumulator models whose results were computed."""
        return len(self._agrees)

    def best(self, engines: Iterable[Engine]) -> list[Engine]:
        """Return the given accumulator models without duplicates, best model first.

        The best accumulator model reproduces the most sums. If many models are given, they are first sorted by a sample
        of the sums. Only the best models of this first sorting are then sorted by all sums.
        """
        found = list({fields.key(engine): engine for engine in engines}.values())
        if len(found) > _MANY:
            found.sort(key=self.every(PART).agreement, reverse=True)
        return [*sorted(found[:_MANY], key=self.agreement, reverse=True), *found[_MANY:]]
