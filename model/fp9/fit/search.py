"""Engines that explain rows: a search over the fields of the record, from the catalogue.

Agreement, the rows that an engine explains, is raised one field at a time. That leads to the engine because most rows
are probes that few fields decide.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.fit import fields
from fp9.fit.interface import Interface
from fp9.fit.vectors import Predictions, Vectors, nan_codes

_STARTS = 3
"""Presets that the search climbs from."""

_PART = 3
"""Which of the rows a climb looks at first: every third."""

_SOME = 8
"""Values of a field, above which it is first seen whether the field matters."""

_STUCK = 40
"""Times that rows which stay unexplained gain weight before a climb is given up."""

_MOST = 1200
"""Engines that a climb looks at, at most."""

_GAIN = 0.3
"""Weight that such a row gains each time; every row begins with 1."""


class Evidence:
    """Vectors and the patterns that a unit gave for them; how many of them engines explain, each looked at once."""

    def __init__(self, interface: Interface, vectors: Vectors, results: NDArray[np.uint64]) -> None:
        self.interface, self.vectors, self.results = interface, vectors, results
        self._predictions = Predictions(interface, vectors)
        self._agrees: dict[tuple[Any, ...], NDArray[np.bool_] | None] = {}
        self._first: dict[int, Evidence] = {}

    def __len__(self) -> int:
        return len(self.vectors)

    def extended(self, vectors: Vectors, results: NDArray[np.uint64]) -> Evidence:
        """The same with more rows."""
        return Evidence(self.interface, self.vectors + vectors, np.concatenate([self.results, results]))

    def every(self, stride: int) -> Evidence:
        """Every so many-th row alone."""
        rows = np.arange(0, len(self), stride)
        return Evidence(self.interface, self.vectors.take(rows), self.results[rows])

    def first(self, count: int) -> Evidence:
        """The first rows alone; the same object for the same number."""
        if count >= len(self):
            return self
        if count not in self._first:
            part = self.vectors.take(np.arange(count))
            self._first[count] = Evidence(self.interface, part, self.results[:count])
        return self._first[count]

    def agrees(self, engine: Engine) -> NDArray[np.bool_] | None:
        """Which rows an engine explains; None where it does not take the operands."""
        key = fields.key(engine)
        if key not in self._agrees:
            found = self._predictions.of(engine)
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


def explainer(rows: Evidence, starts: Iterable[Engine]) -> Engine:
    """The engine that explains most rows, and all where the search finds one that does.

    The way from each start is climbed over every third row, and then over all.
    """
    ranked = sorted(starts, key=rows.agreement, reverse=True)
    best, part = ranked[0], rows.every(_PART)
    for start in ranked[:_STARTS]:
        best = max(best, _Climb(rows).run(_Climb(part).run(start)), key=rows.agreement)
        if rows.explains(best):
            break
    return best


class _Climb:
    """A climb over single fields, by the weight of the rows explained.

    Where no field leads higher, the rows that are not explained gain weight until one does, so that no valley holds it.
    """

    def __init__(self, rows: Evidence) -> None:
        self._rows = rows
        self._weights = np.ones(len(rows))

    def run(self, engine: Engine) -> Engine:
        """The engine on the way that explains most rows."""
        best, stuck, most = engine, 0, self._rows.looked_at + _MOST
        while not self._rows.explains(best) and stuck < _STUCK and self._rows.looked_at < most:
            higher = self._pass(engine)
            if fields.key(higher) == fields.key(engine):
                stuck += 1
                agrees = self._rows.agrees(engine)
                assert agrees is not None
                self._weights += np.where(agrees, 0.0, _GAIN)
            engine = higher
            best = max(best, engine, key=self._rows.agreement)
        return best

    def _weight(self, engine: Engine) -> float:
        agrees = self._rows.agrees(engine)
        return -1.0 if agrees is None else float(self._weights @ agrees)

    def _pass(self, engine: Engine) -> Engine:
        """Each field in turn at its best value."""
        for field in self._rows.fields:
            engine = self._best_value(engine, field)
            if self._rows.explains(engine):
                break
        return engine

    def _matters(self, engine: Engine, field: fields.Field) -> bool:
        """Whether a value of a field changes what is explained."""
        own = self._rows.agrees(engine)
        assert own is not None, "a climb stands on an engine that takes the operands"
        others = (self._rows.agrees(other) for other in fields.changed(engine, field, self._rows.interface))
        return any(agrees is not None and not np.array_equal(agrees, own) for agrees in others)

    def _best_value(self, engine: Engine, field: fields.Field) -> Engine:
        def best_of(start: Engine, values: list[Any]) -> Engine:
            others = fields.changed(engine, fields.Field(field.name, tuple(values)), self._rows.interface)
            return max([start, *others], key=self._weight)

        values = fields.sparse(field.values)
        if len(values) > _SOME and not self._matters(engine, fields.Field(field.name, _ends(values))):
            return engine
        best = best_of(engine, values)
        return best_of(best, fields.between(field.values, getattr(best, field.name)))


def _ends(values: list[Any]) -> tuple[Any, ...]:
    """Values that differ most: of whole numbers the lowest, the middle one and the highest."""
    whole = sorted(value for value in values if fields.is_whole(value))
    ends = [whole[0], whole[len(whole) // 2], whole[-1]] if whole else []
    return (*ends, *(value for value in values if not fields.is_whole(value)))


def mutants(engine: Engine, rows: Evidence, count: int, rng: np.random.Generator) -> list[Engine]:
    """Engines with two or three fields at random."""
    choices = rows.fields
    found = []
    for _ in range(count):
        changed = engine
        for place in rng.choice(len(choices), rng.integers(2, 4), replace=False):
            field = choices[place]
            value = field.values[rng.integers(len(field.values))]
            changed = next(fields.changed(changed, fields.Field(field.name, (value,)), rows.interface), changed)
        found.append(changed)
    return found
