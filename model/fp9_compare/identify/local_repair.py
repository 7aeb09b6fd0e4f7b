"""Beam search that repairs nearly correct accumulator models by changing their fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from fp9.engines import Engine
from fp9_compare.identify import fields
from fp9_compare.identify.evidence import Evidence
from fp9_compare.identify.neighbourhood import grouped, orders, paired, single, windowed
from fp9_compare.identify.unobservable import plain

# Beam width: the number of accumulator models that the search changes in a turn.
_WIDTH = 6
_DEEP = 3
# Maximum number of accumulator models in the beam that reproduce the same sums.
_ALIKE = 2
_TURNS = 12
# Number of turns without improvement after which the search stops.
_PATIENCE = 2
_WRONG = 40
_REPAIRS = 30


def repaired(rows: Evidence, engines: Iterable[Engine]) -> Engine:
    """Repeatedly change fields of the given accumulator models, and return the model that reproduces the most sums."""
    beam = _beam(rows, engines)
    quiet = 0
    for _ in range(_TURNS):
        before = rows.agreement(beam[0])
        if before == len(rows) or quiet == _PATIENCE:
            break
        beam, own = _turned(rows, beam), [fields.key(engine) for engine in beam]
        quiet = 0 if rows.agreement(beam[0]) > before else quiet + 1
        if [fields.key(engine) for engine in beam] == own:
            break
    return beam[0]


def _turned(rows: Evidence, beam: list[Engine]) -> list[Engine]:
    # Further changes are tried only if no simple change reproduces more sums.
    most = rows.agreement(beam[0])
    for count, kinds in _STEPS:
        found = [better for engine in beam[:count] for kind in kinds for better in _better(rows, engine, kind)]
        beam = _beam(rows, [*beam, *found])
        if rows.agreement(beam[0]) > most:
            break
    return beam


Changes = Callable[[Engine, Evidence], Iterator[Engine]]

# Steps of a turn, cheapest first: the number of models to change, and the functions that change them.
_STEPS: tuple[tuple[int, tuple[Changes, ...]], ...] = (
    (1, (single,)),
    (1, (orders,)),
    (1, (windowed,)),
    (_DEEP, (grouped, paired)),
    (_WIDTH, (single, orders, windowed)),
)


def _better(rows: Evidence, engine: Engine, changes: Changes) -> list[Engine]:
    agrees = rows.agrees(engine)
    if agrees is None or agrees.all():
        return []
    wrong = rows.take(np.flatnonzero(~agrees)[:_WRONG])
    found = [other for other in changes(engine, rows) if wrong.agreement(other) > 0]
    return sorted(found, key=wrong.agreement, reverse=True)[:_REPAIRS]


def _beam(rows: Evidence, engines: Iterable[Engine]) -> list[Engine]:
    # Only a few models may reproduce the same set of sums. Of several models that provably give the same sums, only one
    # is kept.
    kept: list[Engine] = []
    known: set[tuple[Any, ...]] = set()
    same: dict[bytes, int] = {}
    for engine in rows.best(engines):
        key = fields.key(plain(engine, rows.interface))
        agrees = rows.agrees(engine)
        rows_of = b"" if agrees is None else agrees.tobytes()
        if key in known or same.get(rows_of, 0) == _ALIKE:
            continue
        known.add(key)
        same[rows_of] = same.get(rows_of, 0) + 1
        kept.append(engine)
        if len(kept) == _WIDTH:
            break
    return kept
