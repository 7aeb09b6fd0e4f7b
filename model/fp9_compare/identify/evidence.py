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
# Only the first few elements of a shortened sum can be nonzero.
_SHORTENED = 6

# Number of accumulator models that are ranked by all measured sums. The others are ranked by a sample only.
_MANY = 120

PART = 3
"""Stride of the sample by which accumulator models are ranked first."""


class Evidence:
    """Sums that a hardware unit computed, and the cached predictions of accumulator models."""

    def __init__(self, interface: Interface, vectors: Vectors, results: NDArray[np.uint64]) -> None:
        self.interface, self.vectors, self.results = interface, vectors, results
        self._predictions = Predictions(interface, vectors)
        self._agrees: dict[tuple[Any, ...], NDArray[np.bool_] | None] = {}
        self._first: dict[int, Evidence] = {}
        self._every: dict[int, Evidence] = {}

    def __len__(self) -> int:
        return len(self.vectors)

    def extended(self, vectors: Vectors, results: NDArray[np.uint64]) -> Evidence:
        return Evidence(self.interface, self.vectors + vectors, np.concatenate([self.results, results]))

    def take(self, rows: NDArray[Any]) -> Evidence:
        return Evidence(self.interface, self.vectors.take(rows), self.results[rows])

    def every(self, stride: int) -> Evidence:
        if stride not in self._every:
            self._every[stride] = self.take(np.arange(0, len(self), stride))
        return self._every[stride]

    def short(self) -> Evidence:
        """Return the sums in which all products after the first `_SHORT` are zero.

        Each returned sum has at most `_SHORTENED` products.
        """
        io, kept = self.interface, min(self.interface.depth, _SHORTENED)
        part = self.take(np.flatnonzero(self._predictions.reach() <= _SHORT))
        vectors = replace(part.vectors, a=part.vectors.a[:, :kept], b=part.vectors.b[:, :kept])
        return Evidence(replace(io, depth=kept), vectors, part.results)

    def first(self, count: int) -> Evidence:
        if count >= len(self):
            return self
        if count not in self._first:
            self._first[count] = self.take(np.arange(count))
        return self._first[count]

    def agrees(self, engine: Engine) -> NDArray[np.bool_] | None:
        """Return a mask of the reproduced sums, or None if the model does not support the operand formats."""
        key = fields.key(engine)
        if key not in self._agrees:
            found = self._predictions.once(engine)
            self._agrees[key] = None if found is None else found == self.results
        return self._agrees[key]

    def agreement(self, engine: Engine) -> int:
        agrees = self.agrees(engine)
        return -1 if agrees is None else int(np.count_nonzero(agrees))

    def explains(self, engine: Engine) -> bool:
        return self.agreement(engine) == len(self)

    def first_difference(self, engine: Engine) -> int | None:
        agrees = self.agrees(engine)
        assert agrees is not None, "the engine must accept the operands"
        return None if agrees.all() else int(agrees.argmin())

    @functools.cached_property
    def fields(self) -> tuple[fields.Field, ...]:
        return fields.hypotheses(self.interface, nan_codes(self.results))

    @property
    def looked_at(self) -> int:
        return len(self._agrees)

    def best(self, engines: Iterable[Engine]) -> list[Engine]:
        """Return distinct accumulator models, sorted by the number of reproduced sums."""
        found = list({fields.key(engine): engine for engine in engines}.values())
        # Many models are first compared with a sample of the sums, and only the best of them with all sums.
        if len(found) > _MANY:
            found.sort(key=self.every(PART).agreement, reverse=True)
        return [*sorted(found[:_MANY], key=self.agreement, reverse=True), *found[_MANY:]]
