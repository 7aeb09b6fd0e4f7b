"""Engines that explain rows: the numbers of a step first, then the order of the elements, then all fields together.

Most rows are probes that few fields decide. Sums of one or two products show how a step aligns, cuts and rounds,
whatever order longer ones go in; with that known, every order can be tried on the rows that show it. Last, what
explains most rows is repaired locally (`local_repair`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from fp9.engines import Engine
from fp9_compare.identify import fields
from fp9_compare.identify.evidence import PART, Evidence
from fp9_compare.identify.local_repair import repaired
from fp9_compare.identify.neighbourhood import ORDER, combined, orders, windowed

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
    {"exact": True},
)
"""Ways in which the first three products of a sum meet: in a step, in steps that follow each other, in chunks that do.
"""

_WINDOWS = (None, 22, 17, 12, 7)
"""Windows of the engines that a stage begins with; wide ones first, as most sums show no difference."""
_FEWEST = 24
"""Rows of such sums, below which they tell too little."""

_KEPT = 8
"""Engines that a stage hands on."""

_KINDS = 6
"""Kinds of engines of which the first is handed on."""

_STARTS = 3
"""Those of them with which most is tried."""

_TURNS = (2, _KINDS, _KINDS)
"""Kinds of engines of which orders and numbers are tried in turn, until one explains all rows."""

_SOME = 8
"""Values of a field, above which it is first seen whether the field matters."""


def explainer(rows: Evidence, starts: Iterable[Engine]) -> Engine:
    """The engine that explains most rows, and all where the search finds one that does."""
    tried = list(starts)
    for engine in _staged(rows):
        if rows.explains(engine):
            return engine
        tried.append(engine)
    return repaired(rows, _unlike(rows.best(tried), _built))


def _staged(rows: Evidence) -> Iterator[Engine]:
    """Engines found from the numbers of a step on, wherever others stand; none where rows hold too few short sums."""
    short = rows.short()
    if len(short) < _FEWEST:
        return
    found = _unlike(short.best(_meeting(rows)), _meets)[:_KINDS]
    found = short.best(_of_each(windowed, found, rows))
    found = _raised(short, [*found[:_STARTS], *_unlike(found, _meets)[:_KINDS]])
    found = short.best(_of_each(_numbered, found[:_STARTS], rows))
    part = rows.every(PART)
    for count, stage in itertools.product(_TURNS, (orders, _numbered)):
        found = part.best(_of_each(stage, _unlike(found, _cuts)[:count], rows))
        yield from found[:_KEPT]


def _raised(short: Evidence, engines: Sequence[Engine]) -> list[Engine]:
    """Engines, and where none explains all rows what a pass over the other fields makes of them, and one more."""
    climb = _Climb(short, [field for field in short.fields if field.name not in (*ORDER, "exact")])
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


def _built(engine: Engine) -> tuple[Any, ...]:
    return engine.result, engine.promotion, engine.chunk is None, engine.window is None, engine.addend


def _meets(engine: Engine) -> tuple[Any, ...]:
    return (*(getattr(engine, name) for name in ORDER), engine.exact)


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


def _numbered(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with some windows, and every way to cut, to add and to round."""
    for window in (engine.window, *_WINDOWS):
        changed = fields.with_values(engine, {"window": window})
        if changed is not None:
            yield from combined(changed, rows, ("truncation", "addend", "rounding"))


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
