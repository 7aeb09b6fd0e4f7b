"""Identification of an unknown accumulator by chosen sums and random sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fp9.engines import ENGINES, Engine
from fp9_compare.identify import fields
from fp9_compare.identify.box import Box
from fp9_compare.identify.evidence import Evidence
from fp9_compare.identify.interface import Interface
from fp9_compare.identify.local_repair import repaired
from fp9_compare.identify.neighbourhood import grouped, mutants, orders, paired
from fp9_compare.identify.probes.edges import edges, residuals
from fp9_compare.identify.probes.structured import drawn, structured, thinned
from fp9_compare.identify.search import explainer
from fp9_compare.identify.unobservable import plain
from fp9_compare.identify.vectors import Predictions, Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

CALLS = 1000
"""Default limit on the number of sums that a unit computes."""

_ROUNDS = 12
# Every search uses more sums than the previous search.
_SEARCHES = 4
_FRESH = 300
_EDGES = 700
_DEEP = 1500
# Number of unsuccessful attempts to distinguish candidates, after which the candidates count as equal.
_QUIET = 2
_MUTANTS = 40
# Stride of the sums in a first comparison, which already excludes most accumulator models.
_HEAD = 8
_CONFIRMING = 64
# Stride of the sample of probe sums in each family: every third probe sum.
_THINNED = 3
_AGAIN = 16


@dataclass(frozen=True)
class Fall:
    """A computed sum, and the number of candidate accumulators before and after this sum."""

    row: int
    before: int
    after: int


@dataclass(frozen=True)
class Fit:
    """Result of an identification.

    `engine` is the accumulator model that reproduces every sum, or None if there is no such model. `nearest` is the
    accumulator model that reproduces the most sums, and `equal` holds other models that predict the same sums. `calls`
    counts the sums that the hardware unit computed, including repeated sums.
    """

    name: str
    interface: Interface
    engine: Engine | None
    nearest: Engine
    equal: tuple[Engine, ...]
    evidence: Evidence
    falls: tuple[Fall, ...]
    calls: int

    @property
    def differs(self) -> int | None:
        """Return the index of the first sum that the accumulator model `nearest` does not reproduce, or None."""
        return self.evidence.first_difference(self.nearest)


class _Spent(Exception):
    """Raised when the hardware unit has computed the maximum number of sums."""


class _Session:
    """State of an identification: the computed sums, and the number of candidate accumulators after each sum."""

    def __init__(self, box: Box, calls: int, rng: np.random.Generator) -> None:
        self.box, self.interface, self.most, self.rng = box, box.interface, calls, rng
        self.pool = structured(box.interface)
        self._pool = _parts(box.interface, self.pool)
        self.falls: list[Fall] = []
        none = self.pool.take([])
        self._asked_thinned = False
        self.best: tuple[int, Engine] | None = None
        self.held: list[Engine] = []
        self.evidence = Evidence(box.interface, none, np.empty(0, dtype=np.uint64))

    def ask(self, vectors: Vectors) -> NDArray[np.uint64]:
        if self.box.calls + len(vectors) > self.most:
            raise _Spent
        results = self.box.answers(vectors.a, vectors.b, vectors.c)
        self.evidence = self.evidence.extended(vectors, results)
        return results

    def ask_thinned(self) -> None:
        if not self._asked_thinned:
            self._asked_thinned = True
            self.ask(self.pool.take(thinned(self.pool, _THINNED)) + drawn(self.interface, _CONFIRMING, self.rng))

    def check_again(self) -> None:
        # A unit whose results depend on more than its operands cannot be identified.
        asked = self.evidence
        rows = np.linspace(0, len(asked) - 1, min(_AGAIN, len(asked), self.most - self.box.calls)).astype(np.intp)
        again = asked.vectors.take(rows)
        results = self.box.answers(again.a, again.b, again.c) if len(rows) else asked.results[rows]
        if (results != asked.results[rows]).any():
            raise ValueError(
                f"{self.box.name} gives different results for the same sum; give a unit whose result depends only "
                "on its operands"
            )

    def separate(self, candidates: Sequence[Engine], vectors: Vectors) -> list[Engine]:
        """Ask for sums for which the candidates predict different results, and return the remaining candidates."""
        left = list(candidates)
        for part in self._pool if vectors is self.pool else _parts(self.interface, vectors):
            left = self._separated(left, part)
        return left

    def _separated(self, candidates: Sequence[Engine], predictions: Predictions) -> list[Engine]:
        found = [(engine, predictions.of(engine)) for engine in candidates]
        kept = [(engine, results) for engine, results in found if results is not None]
        left = [engine for engine, _ in kept]
        if not left:
            return []
        classes = _classes(np.stack([results for _, results in kept]))
        while len(left) > 1:
            column = _best_column(classes)
            if column is None:
                break
            own = [results[column] for _, results in kept]
            answer = self.ask(predictions.vectors.take([column]))[0]
            stays = [i for i, result in enumerate(own) if result == answer]
            self.falls.append(Fall(len(self.evidence) - 1, len(left), len(stays)))
            kept, left, classes = [kept[i] for i in stays], [left[i] for i in stays], classes[stays]
        return left


def _parts(interface: Interface, vectors: Vectors) -> list[Predictions]:
    first = np.arange(len(vectors)) % _HEAD == 0
    return [Predictions(interface, vectors.take(np.flatnonzero(rows))) for rows in (first, ~first)]


def _classes(results: NDArray[np.uint64]) -> NDArray[np.intp]:
    # Two integers in a column are equal if and only if the two results are equal.
    return np.stack([np.unique(column, return_inverse=True)[1] for column in results.T], axis=1)


def _best_column(classes: NDArray[np.intp]) -> int | None:
    if not classes.size:
        return None
    counts = np.zeros((int(classes.max()) + 1, classes.shape[1]), dtype=np.intp)
    np.add.at(counts, (classes, np.arange(classes.shape[1])), 1)
    worst = (counts * counts).sum(axis=0)
    best = int(worst.argmin())
    return None if worst[best] == len(classes) ** 2 else best


def fit(box: Box, calls: int = CALLS, seed: int = 0) -> Fit:
    """Identify the accumulator of a hardware unit by asking the unit for at most `calls` sums.

    The first candidates are the accumulator presets. The hardware unit computes sums until only one candidate
    accumulator model reproduces every sum. The hardware unit then computes sums that distinguish the remaining
    candidate model from similar accumulator models. Finally, sums of random operands confirm the remaining candidate
    model. If no preset reproduces the sums, a search finds another model. Raises ValueError if the hardware unit fails,
    returns wrong shapes, or computes the same sum twice with different results.
    """
    session = _Session(box, calls, np.random.default_rng(seed))
    try:
        left = _converse(session)
    except _Spent:
        left = _explaining(session, [*fields.presets(box.interface), *_around(session, _best(session))])
    session.check_again()
    nearest = _preferred(left) if left else _best(session)
    if not left and session.evidence.explains(nearest):  # the search succeeded when no more sums could be asked
        left = [nearest]
    equal = [engine for engine in left if fields.key(engine) != fields.key(nearest)]
    if left:
        equal += _alike(session, nearest, equal)
    nearest, named = fields.named(nearest), tuple(map(fields.named, equal))
    engine = nearest if left else None
    return Fit(
        box.name, box.interface, engine, nearest, named, session.evidence, tuple(session.falls), session.box.calls
    )


def _alike(session: _Session, engine: Engine, equal: Sequence[Engine]) -> list[Engine]:
    own = fields.key(plain(engine, session.interface))
    known = {fields.key(other) for other in equal}
    near = fields.near(engine, session.evidence.fields, session.interface)
    found = {fields.key(other): other for other in near if fields.key(plain(other, session.interface)) == own}
    return [other for key, other in found.items() if key not in known]


def _converse(session: _Session) -> list[Engine]:
    left = session.separate(fields.presets(session.interface), session.pool)
    for _ in range(_ROUNDS):
        if not left:
            left = _searched(session)
        if not left:
            return []
        left = _told_apart(session, left)
        if left and _confirmed(session, left):
            answer = fields.key(_preferred(left))
            left = _told_from_far(session, left)
            if left and fields.key(_preferred(left)) == answer:
                return left
        left = _explaining(session, left)
    return []


def _searched(session: _Session) -> list[Engine]:
    session.ask_thinned()
    session.check_again()
    for _ in range(_SEARCHES):
        best = _best(session)
        if session.evidence.explains(best):
            return [best]
        session.ask(edges(session.interface, best, _CONFIRMING, session.rng))
    best = _best(session)
    return [best] if session.evidence.explains(best) else []


def _told_apart(session: _Session, left: list[Engine]) -> list[Engine]:
    middle, quiet = None, 0
    while left and quiet < _QUIET:
        before = fields.key(_preferred(left)), len(left)
        if middle != before[0]:
            middle = before[0]
            around = _around(session, _preferred(left))
            left = session.separate(_unlike(session, _explaining(session, [*left, *around])), session.pool)
        if left:
            left = session.separate(left, _fresh(session, _preferred(left)))
        unchanged = left and (fields.key(_preferred(left)), len(left)) == before
        quiet = quiet + 1 if unchanged else 0
    return left


def _told_from_far(session: _Session, left: list[Engine]) -> list[Engine]:
    session.held = left
    middle = _preferred(left)
    beside = [*grouped(middle, session.evidence), *paired(middle, session.evidence)]
    left = session.separate(_unlike(session, _explaining(session, [*left, *beside])), session.pool)
    for _ in range(_QUIET):
        if left:
            left = session.separate(left, _searching(session, _preferred(left)))
    return left


def _searching(session: _Session, engine: Engine) -> Vectors:
    # Sums with the expected result subtracted make the rounding error visible.
    found = drawn(session.interface, _DEEP, session.rng) + edges(session.interface, engine, _EDGES, session.rng)
    return found + residuals(session.interface, engine, found)


def _unlike(session: _Session, engines: Sequence[Engine]) -> list[Engine]:
    kinds: dict[tuple[object, ...], list[Engine]] = {}
    for engine in engines:
        kinds.setdefault(fields.key(plain(engine, session.interface)), []).append(engine)
    return [_preferred(kind) for kind in kinds.values()]


def _fresh(session: _Session, engine: Engine) -> Vectors:
    at_edges = edges(session.interface, engine, _EDGES, session.rng)
    return drawn(session.interface, _FRESH, session.rng) + at_edges


def _around(session: _Session, engine: Engine) -> list[Engine]:
    several = mutants(engine, session.evidence, _MUTANTS, session.rng)
    near = fields.near(engine, session.evidence.fields, session.interface)
    return [*near, *orders(engine, session.evidence), *several]


def _explaining(session: _Session, engines: Iterable[Engine]) -> list[Engine]:
    found = {fields.key(engine): engine for engine in engines}
    head = session.evidence.every(_HEAD)
    return [engine for engine in found.values() if head.explains(engine) and session.evidence.explains(engine)]


def _confirmed(session: _Session, left: list[Engine]) -> bool:
    if not _is_preset(_preferred(left)):
        session.ask_thinned()
    session.ask(drawn(session.interface, _CONFIRMING, session.rng))
    at_edges = edges(session.interface, _preferred(left), 2 * _CONFIRMING, session.rng)
    halves = np.arange(_CONFIRMING), np.arange(_CONFIRMING, 2 * _CONFIRMING)
    session.ask(at_edges.take(halves[0]))
    session.ask(residuals(session.interface, _preferred(left), at_edges.take(halves[1])))
    return session.evidence.explains(left[0])


def _is_preset(engine: Engine) -> bool:
    return fields.key(engine) in {fields.key(preset) for preset in ENGINES.values()}


def _preferred(engines: Sequence[Engine]) -> Engine:
    names = [fields.key(preset) for preset in ENGINES.values()]

    def rank(engine: Engine) -> tuple[int, int]:
        own = fields.key(engine)
        return (names.index(own) if own in names else len(names), len(fields.differences(Engine(), engine)))

    return min(engines, key=rank)


def _best(session: _Session) -> Engine:
    if session.best is None or session.best[0] != len(session.evidence):
        session.best = (len(session.evidence), _nearest(session))
    return session.best[1]


def _nearest(session: _Session) -> Engine:
    starts = [*fields.presets(session.interface), *session.held]
    if session.best is not None or session.held:
        starts += [session.best[1]] if session.best else []
        starts.append(repaired(session.evidence, starts))
        if session.evidence.explains(starts[-1]):
            return starts[-1]
    return explainer(session.evidence, starts)
