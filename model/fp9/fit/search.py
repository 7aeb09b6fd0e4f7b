"""Engines that explain rows: the numbers of a step first, then the order of the elements, then all fields together.

Most rows are probes that few fields decide. Sums of one or two products show how a step aligns, cuts and rounds,
whatever order longer ones go in; with that known, every order can be tried on the rows that show it. Last, agreement on
all rows is raised one field at a time.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.fit import fields
from fp9.fit.idle import is_plain
from fp9.fit.interface import Interface
from fp9.fit.vectors import Predictions, Vectors, nan_codes

_ORDER = ("products", "chunk", "interleave")
"""Fields that say which products meet in a step."""

_MEETINGS: tuple[dict[str, Any], ...] = (
    {"products": 3},
    {"products": 2},
    {"products": 1},
    {"products": 3, "chunk": 3},
    {"products": 2, "chunk": 4},
    {"products": 2, "chunk": 4, "interleave": 1},
    {"products": 2, "chunk": 2},
    {"products": 1, "chunk": 4},
    {"products": 1, "chunk": 2},
    {"products": 1, "chunk": 1},
    {"whole": True},
)
"""Ways in which the first three products of a sum meet: in a step, in steps that follow each other, in chunks that do.
"""

_WINDOWS = (None, 22, 17, 12, 7)
"""Windows of the engines that a stage begins with; wide ones first, as most sums show no difference."""
_SHORT = 3
"""Products of the sums that are explained first."""
_SHORTENED = 6
"""Elements that are kept of them, zeros all but the first."""
_FEWEST = 24
"""Rows of such sums, below which they tell too little."""

_KEPT = 8
"""Engines that a stage hands on."""

_MANY = 120
"""Engines that are ranked by all rows, of those that are best on some."""

_KINDS = 6
"""Kinds of engines of which the first is handed on."""

_STARTS = 3
"""Those of them with which most is tried."""

_WRONG = 40
"""Rows not explained that changes of an engine are tried on first."""

_MENDING = 30
"""Changes that are tried on all rows, of those that explain some of them."""

_PART = 3
"""Which of the rows orders and numbers are tried on: every third."""

_TURNS = 2
"""Times that they are tried in turn."""

_SOME = 8
"""Values of a field, above which it is first seen whether the field matters."""


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

    def best(self, engines: Iterable[Engine]) -> list[Engine]:
        """Engines, each once, those that explain most rows first; of many, most are ranked by some rows alone."""
        found = list({fields.key(engine): engine for engine in engines}.values())
        if len(found) > _MANY:
            found.sort(key=self.every(_PART).agreement, reverse=True)
        return [*sorted(found[:_MANY], key=self.agreement, reverse=True), *found[_MANY:]]


def explainer(rows: Evidence, starts: Iterable[Engine]) -> Engine:
    """The engine that explains most rows, and all where the search finds one that does."""
    tried = list(starts)
    for more in (_staged, _mended):
        for engine in more(rows, tuple(tried)):
            if rows.explains(engine):
                return engine
            tried.append(engine)
    return rows.best(tried)[0]


def _mended(rows: Evidence, tried: Sequence[Engine]) -> Iterator[Engine]:
    """The best engines of several kinds, each changed for as long as a change explains more rows."""
    for engine in _unlike(rows.best(tried), _built)[:_KINDS]:
        yield mended(rows, engine)


def mended(rows: Evidence, engine: Engine) -> Engine:
    """An engine, changed for as long as a change explains more rows."""
    better: Engine | None = engine
    while better is not None:
        engine, better = better, _mend(rows, better)
    return engine


def _mend(rows: Evidence, engine: Engine) -> Engine | None:
    """The engine with the change that explains most rows, of the first group of changes in which one explains more."""
    agrees = rows.agrees(engine)
    if agrees is None or agrees.all():
        return None
    wrong = rows.take(np.flatnonzero(~agrees)[:_WRONG])
    for changes in (_one, orders, _windowed, _two):
        found = [other for other in changes(engine, rows) if wrong.agreement(other) > 0]
        found = sorted(found, key=wrong.agreement, reverse=True)[:_MENDING]
        best = max([engine, *found], key=rows.agreement)
        if rows.agreement(best) > rows.agreement(engine):
            return best
    return None


def _built(engine: Engine) -> tuple[Any, ...]:
    return engine.result, engine.promotion, engine.chunk is None, engine.window is None, engine.addend


def _one(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with any other value of any field."""
    for field in rows.fields:
        yield from fields.changed(engine, field, rows.interface)


def _two(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with other values of two fields, of numbers those nearby."""
    few = [fields.beside(field, engine) for field in rows.fields if field.name not in _ORDER]
    for first, second in itertools.combinations(few, 2):
        for values in itertools.product(first.values, second.values):
            made = fields.with_values(engine, dict(zip((first.name, second.name), values, strict=True)))
            if made is not None and fields.is_possible(made, rows.interface):
                yield made


def _staged(rows: Evidence, _: Sequence[Engine]) -> Iterator[Engine]:
    """Engines found from the numbers of a step on, wherever others stand; none where rows hold too few short sums."""
    short = rows.short()
    if len(short) < _FEWEST:
        return
    found = _unlike(short.best(_meeting(rows)), _meets)[:_KINDS]
    found = short.best(_of_each(_windowed, found, rows))
    found = _raised(short, [*found[:_STARTS], *_unlike(found, _meets)[:_KINDS]])
    found = short.best(_of_each(_numbered, found[:_STARTS], rows))
    part = rows.every(_PART)
    for stage in (orders, _numbered) * _TURNS:
        found = part.best(_of_each(stage, _unlike(found, _cuts)[:_KINDS], rows))
        yield from found[:_KEPT]


def _raised(short: Evidence, engines: Sequence[Engine]) -> list[Engine]:
    """Engines, and where none explains all rows what a pass over the other fields makes of them, and one more."""
    climb = _Climb(short, [field for field in short.fields if field.name not in (*_ORDER, "whole")])
    found = short.best(engines)
    for count in (len(found), _STARTS):
        if not short.explains(found[0]):
            found = short.best([*found, *(climb.pass_over(engine) for engine in found[:count])])
    return found


def _of_each(
    stage: Callable[[Engine, Evidence], Iterator[Engine]], engines: Sequence[Engine], rows: Evidence
) -> Iterator[Engine]:
    """Engines, and what a stage makes of each."""
    yield from engines
    for engine in engines:
        yield from stage(engine, rows)


def _unlike(engines: Iterable[Engine], kind: Callable[[Engine], Any]) -> list[Engine]:
    """The first engine of every kind."""
    found: dict[Any, Engine] = {}
    for engine in engines:
        found.setdefault(kind(engine), engine)
    return list(found.values())


def _meets(engine: Engine) -> tuple[Any, ...]:
    return (*(getattr(engine, name) for name in _ORDER), engine.whole)


def _cuts(engine: Engine) -> tuple[Any, ...]:
    return engine.chunk is None, engine.window is None, engine.truncation


def _meeting(rows: Evidence) -> Iterator[Engine]:
    """Engines of every result and rounding, with a window or none, in which the first products meet in every way."""
    values = {field.name: field.values for field in rows.fields}
    names = ("result", "promotion", "rounding")
    for order, window in itertools.product(_MEETINGS, (None, _WINDOWS[len(_WINDOWS) // 2])):
        for numbers in itertools.product(*(values[name] for name in names)):
            made = fields.made({**dict(zip(names, numbers, strict=True)), "window": window, **order})
            if made is not None and fields.is_possible(made, rows.interface):
                yield made


def orders(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with every order of the elements, chunks or none as it has."""
    if engine.whole:
        yield engine
        return
    depth = rows.interface.depth
    for products in fields.sparse(range(1, depth + 1)):
        for chunk, run in [(None, None)] if engine.chunk is None else _chunks(products, depth):
            made = fields.with_values(engine, dict(zip(_ORDER, (products, chunk, run), strict=True)))
            if made is not None:
                yield made


def _chunks(products: int, depth: int) -> Iterator[tuple[int, int | None]]:
    """Chunks of steps of so many products, and the neighbours dealt to each in turn.

    Of steps that follow each other up to the first chunk that holds all elements; of dealt ones as many as leave no
    more than one step, and no more than one turn of each, without elements: more of them give the same sums. All
    neighbours of a step dealt at once follow each other, and the last chunk is filled.
    """
    yield from ((products * steps, None) for steps in range(1, -(-depth // products) + 1))
    for run in range(1, products + 1):
        if products % run == 0:
            most = -(-depth // max(products - 2 * run, run)) + 1
            yield from ((products * steps, run) for steps in range(1, most + 1))


def _windowed(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with every window, and every way to cut and to add."""
    yield from _combined(engine, rows, ("window", "truncation", "addend"))


def _numbered(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with some windows, and every way to cut, to add and to round."""
    for window in (engine.window, *_WINDOWS):
        changed = fields.with_values(engine, {"window": window})
        if changed is not None:
            yield from _combined(changed, rows, ("truncation", "addend", "rounding"))


def _combined(engine: Engine, rows: Evidence, names: tuple[str, ...]) -> Iterator[Engine]:
    """The engine with all values of some fields; those that the record refuses or that change nothing left out."""
    values = {field.name: field.values for field in rows.fields}
    for chosen in itertools.product(*(values[name] for name in names)):
        made = fields.with_values(engine, dict(zip(names, chosen, strict=True)))
        if made is not None and fields.is_possible(made, rows.interface) and is_plain(made, rows.interface):
            yield made


class _Climb:
    """A climb over single fields, by the rows explained."""

    def __init__(self, rows: Evidence, choices: Sequence[fields.Field]) -> None:
        self._rows, self._fields = rows, choices

    def pass_over(self, engine: Engine) -> Engine:
        """Each field in turn at its best value."""
        for field in self._fields:
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
            return max([start, *others], key=self._rows.agreement)

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
