"""Search for accumulator models that reproduce measured sums.

Sums with at most two nonzero products show how an accumulation step aligns, truncates and rounds, for any order of
addition. Sums with at least three nonzero products show the order in which the accumulator adds products. Finally, the
search changes single fields of the best models.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from fp9.engines import PARAMETERS, Engine
from fp9_compare.identify import fields
from fp9_compare.identify.evidence import PART, Evidence
from fp9_compare.identify.local_repair import repaired
from fp9_compare.identify.neighbourhood import ORDER, combined, orders, windowed

# Ways to add the first three products of a sum: in one step, in consecutive steps, or in consecutive chunks.
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

# Wide windows come first, because most wide windows give equal sums.
_WINDOWS = (None, 22, 17, 12, 7)
# Minimum number of short sums for a useful search.
_FEWEST = 24

_KEPT = 8

_KINDS = 6

_STARTS = 3

_TURNS = (2, _KINDS, _KINDS)

_SOME = 8


def explainer(rows: Evidence, starts: Iterable[Engine]) -> Engine:
    """Return a model that reproduces all sums, or else the best model that was found."""
    tried = list(starts)
    for engine in _staged(rows):
        if rows.explains(engine):
            return engine
        tried.append(engine)
    return repaired(rows, _unlike(rows.best(tried), _built))


def _staged(rows: Evidence) -> Iterator[Engine]:
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
    climb = _Climb(short, [field for field in short.fields if field.name not in (*ORDER, "exact")])
    found = short.best(engines)
    for count in (len(found), _STARTS):
        if not short.explains(found[0]):
            found = short.best([*found, *(climb.pass_over(engine) for engine in found[:count])])
    return found


def _of_each(
    stage: Callable[[Engine, Evidence], Iterator[Engine]], engines: Sequence[Engine], rows: Evidence
) -> Iterator[Engine]:
    yield from engines
    for engine in engines:
        yield from stage(engine, rows)


def _unlike(engines: Iterable[Engine], kind: Callable[[Engine], Any]) -> list[Engine]:
    found: dict[Any, Engine] = {}
    for engine in engines:
        found.setdefault(kind(engine), engine)
    return list(found.values())


def _built(engine: Engine) -> tuple[Any, ...]:
    return (
        engine.result.format,
        engine.chunk.promotion,
        engine.chunk.length is None,
        engine.window.width is None,
        engine.window.addend,
    )


def _meets(engine: Engine) -> tuple[Any, ...]:
    return (*(PARAMETERS[name].of(engine) for name in ORDER), engine.step.exact)


def _cuts(engine: Engine) -> tuple[Any, ...]:
    return engine.chunk.length is None, engine.window.width is None, engine.window.truncation


def _meeting(rows: Evidence) -> Iterator[Engine]:
    values = {field.name: field.values for field in rows.fields}
    names = ("result", "promotion", "rounding")
    for order, window in itertools.product(_MEETINGS, (None, _WINDOWS[len(_WINDOWS) // 2])):
        for numbers in itertools.product(*(values[name] for name in names)):
            made = fields.made({**dict(zip(names, numbers, strict=True)), "window": window, **order})
            if made is not None and fields.is_possible(made, rows.interface):
                yield made


def _numbered(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    for window in (engine.window.width, *_WINDOWS):
        changed = fields.with_values(engine, {"window": window})
        if changed is not None:
            yield from combined(changed, rows, ("truncation", "addend", "rounding"))


class _Climb:
    """Hill climbing: changes one field of an accumulator model at a time so that more sums are reproduced."""

    def __init__(self, rows: Evidence, choices: Sequence[fields.Field]) -> None:
        self._rows, self._fields = rows, choices

    def pass_over(self, engine: Engine) -> Engine:
        """Set one field after another to the value with which the model reproduces the most sums."""
        for field in self._fields:
            engine = self._best_value(engine, field)
            if self._rows.explains(engine):
                break
        return engine

    def _matters(self, engine: Engine, field: fields.Field) -> bool:
        own = self._rows.agrees(engine)
        assert own is not None, "the search starts from an engine that accepts the operands"
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
        return best_of(best, fields.between(field.values, PARAMETERS[field.name].of(best)))


def _ends(values: list[Any]) -> tuple[Any, ...]:
    whole = sorted(value for value in values if fields.is_whole(value))
    ends = [whole[0], whole[len(whole) // 2], whole[-1]] if whole else []
    return (*ends, *(value for value in values if not fields.is_whole(value)))
