"""What a unit gave for the vectors that it was asked, and how many of these rows engines explain."""

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
"""Products of the sums that are explained first."""
_SHORTENED = 6
"""Elements that are kept of them, zeros all but the first."""

_MANY = 120
"""Engines that are ranked by all rows, of those that are best on some."""

PART = 3
"""Which of the rows most engines are ranked by: every third."""


class Evidence:
    """Vectors and the patterns that a unit gave for them; how many of them engines explain, each looked at once."""

    def __init__(self, interface: Interface, vectors: Vectors, results: NDArray[np.uint64]) -> None:
        self.interface, self.vectors, self.results = interface, vectors, results
        self._predictions = Predictions(interface, vectors)
        self._agrees: dict[tuple[Any, ...], NDArray[np.bool_] | None] = {}
        self._first: dict[int, Evidence] = {}
        self._every: dict[int, Evidence] = {}

    def __len__(self) -> int:
        return len(self.vectors)

    def extended(self, vectors: Vectors, results: NDArray[np.uint64]) -> Evidence:
        """The same with more rows."""
        return Evidence(self.interface, self.vectors + vectors, np.concatenate([self.results, results]))

    def take(self, rows: NDArray[Any]) -> Evidence:
        """Some of the rows alone."""
        return Evidence(self.interface, self.vectors.take(rows), self.results[rows])

    def every(self, stride: int) -> Evidence:
        """Every so many-th row alone; the same object for the same number."""
        if stride not in self._every:
            self._every[stride] = self.take(np.arange(0, len(self), stride))
        return self._every[stride]

    def short(self) -> Evidence:
        """The sums of no products but the first ones, without most of their zeros."""
        io, kept = self.interface, min(self.interface.depth, _SHORTENED)
        part = self.take(np.flatnonzero(self._predictions.reach() <= _SHORT))
        vectors = replace(part.vectors, a=part.vectors.a[:, :kept], b=part.vectors.b[:, :kept])
        return Evidence(replace(io, depth=kept), vectors, part.results)

    def first(self, count: int) -> Evidence:
        """The first rows alone; the same object for the same number."""
        if count >= len(self):
            return self
        if count not in self._first:
            self._first[count] = self.take(np.arange(count))
        return self._first[count]

    def agrees(self, engine: Engine) -> NDArray[np.bool_] | None:
        """Which rows an engine explains; None where it does not take the operands."""
        key = fields.key(engine)
        if key not in self._agrees:
            found = self._predictions.once(engine)
            self._agrees[key] = None if found is None else found == self.results
        return self._agrees[key]

    def agreement(self, engine: Engine) -> int:
        """How many rows an engine explains; -1 where it does not take the operands."""
        agrees = self.agrees(engine)
        return -1 if agrees is None else int(np.count_nonzero(agrees))

    def explains(self, engine: Engine) -> bool:
        """Whether an engine explains every row."""
        return self.agreement(engine) == len(self)

    def first_difference(self, engine: Engine) -> int | None:
        """The first row that an engine does not explain."""
        agrees = self.agrees(engine)
        assert agrees is not None, "an engine that takes the operands is asked for"
        return None if agrees.all() else int(agrees.argmin())

    @functools.cached_property
    def fields(self) -> tuple[fields.Field, ...]:
        """The hypotheses about the unit that gave the rows."""
        return fields.hypotheses(self.interface, nan_codes(self.results))

    @property
    def looked_at(self) -> int:
        """Engines whose results were computed."""
        return len(self._agrees)

    def best(self, engines: Iterable[Engine]) -> list[Engine]:
        """Engines, each once, those that explain most rows first; of many, most are ranked by some rows alone."""
        found = list({fields.key(engine): engine for engine in engines}.values())
        if len(found) > _MANY:
            found.sort(key=self.every(PART).agreement, reverse=True)
        return [*sorted(found[:_MANY], key=self.agreement, reverse=True), *found[_MANY:]]
