"""Search for the ways in which an implementation differs from its specification, given its wrong results."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.formats.rounding import FLAG_BITS
from fp9.vectors.sets import VectorSet
from fp9_compare.diagnosis.classes import equal_up_to_nan, flag_ports
from fp9_compare.diagnosis.clusters import Cluster, clusters
from fp9_compare.diagnosis.difference import Difference, Topic, changed, results_under
from fp9_compare.diagnosis.hypotheses import differences, flag_differences

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Number of operations on which pairs of differences are tried.
SAMPLE = 3_000
SHOWN = 5
# A larger number of differences could explain any results.
MOST = 6


@dataclass(frozen=True)
class Explanation:
    """One difference between an implementation and its specification that explains wrong results.

    `says` describes the difference. The search applies one difference after another to a copy of the specification. An
    implementation's result is wrong if the changed specification gives a different result. `explains` counts the
    results that are wrong before this difference is applied, and correct afterwards. `contradicts` counts the results
    that are correct before this difference is applied, and wrong afterwards.
    """

    says: str
    explains: int
    contradicts: int


@dataclass(frozen=True)
class Explained:
    """Differences that explain the wrong results and wrong flags of a unit, and the number of unexplained results.

    `clusters` groups the unexplained operations. `first_unexplained` holds the indices of a few unexplained operations.
    """

    explanations: tuple[Explanation, ...]
    mismatches: int
    unexplained: int
    first_unexplained: tuple[int, ...] = ()
    clusters: tuple[Cluster, ...] = ()


def explain(
    made: VectorSet,
    answers: Mapping[str, Any],
    tried: Iterable[Difference] | None = None,
    any_nan: bool = False,
    flag_bits: int = (1 << FLAG_BITS) - 1,
) -> Explained:
    """Return the ways in which an implementation differs from its specification, judged by its results and flags.

    If one difference explains all results, only this difference is returned. If no single difference explains all
    results, the search combines differences. The search extends a combination of differences only if the number of
    unexplained results drops. `tried` holds the `Difference` records that the search tries; the default is
    `differences(made.unit)`. If `any_nan` is true, any NaN code is correct where a NaN is expected. Flags outside
    `flag_bits` are ignored.
    """
    whole = _Case(made, answers, results=True, any_nan=any_nan)
    candidates = tuple(differences(made.unit) if tried is None else tried)
    beside_results = _Case(made, answers, results=False, any_nan=any_nan, flag_bits=flag_bits)
    found = _search(whole, candidates, beside_results)
    explanations, left = _account(whole, found)
    unlike, remaining = int(left.sum()), left & whole.wrong(())
    total = int(whole.wrong(()).sum())
    if flag_ports(made.unit):
        flags = _Case(made, answers, results=False, any_nan=any_nan, apart=whole.wrong(found), flag_bits=flag_bits)
        mismatched = int((flags.wrong(()) & ~whole.wrong(())).sum())
        beside = [other for other in candidates if whole.count((*found, other)) <= unlike] if flags.count(found) else []
        alone = ~whole.wrong(())
        explanations = [
            replace(e, explains=e.explains + int((alone & flags.wrong(found[:i]) & ~flags.wrong(found[: i + 1])).sum()))
            for i, e in enumerate(explanations)
        ]
        raised = _forward(flags, found, (*flag_differences(made.unit), *beside))
        more, left_flags = _account(flags, raised, found)
        explanations += more
        total, unlike, remaining = (
            total + mismatched,
            unlike + int(left_flags.sum()),
            remaining | left_flags & flags.wrong(()),
        )
    groups = tuple(clusters(made, remaining))
    shown = [group.simplest for group in groups[:SHOWN]] + np.flatnonzero(remaining)[:SHOWN].tolist()
    first = tuple(dict.fromkeys(shown))[:SHOWN]
    return Explained(tuple(explanations), total, unlike, first, groups)


class _Case:
    def __init__(
        self,
        made: VectorSet,
        answers: Mapping[str, Any],
        results: bool,
        any_nan: bool,
        apart: Any = None,
        flag_bits: int = 0,
    ) -> None:
        self.bits = {} if results else {port.name: flag_bits for port, _ in flag_ports(made.unit)}
        self.made, self.answers, self.any_nan, self.results = made, answers, any_nan, results
        flags = {port.name for port, _ in flag_ports(made.unit)}
        self.ports = [port for port in made.unit.outputs if (port.name not in flags) == results]
        self.apart = apart
        self._known: dict[tuple[Difference, ...], NDArray[np.bool_]] = {}

    def wrong(self, composition: Sequence[Difference]) -> NDArray[np.bool_]:
        key = tuple(composition)
        if key not in self._known:
            self._known[key] = self._compared(key)
        return self._known[key]

    def _compared(self, composition: tuple[Difference, ...]) -> NDArray[np.bool_]:
        made = self.made
        expected = results_under(made.unit, made.inputs, composition)
        care = made.care if not composition else {**changed(made.unit, composition).care(expected), **self._ignored()}
        lax = self.any_nan or any(difference.any_nan for difference in composition)
        wrong = np.zeros(len(made), dtype=np.bool_)
        for port in self.ports:
            differs = self.answers[port.name] != expected[port.name]
            if port.name in self.bits:
                differs = (self.answers[port.name] ^ expected[port.name]) & np.uint8(self.bits[port.name]) != 0
            differs = differs & care.get(port.name, np.True_)
            if lax and port.formats and differs.any():
                differs &= ~equal_up_to_nan(made.unit, port, self.answers[port.name], expected[port.name], made.inputs)
            wrong |= differs
        return wrong if self.apart is None else wrong & ~self.apart

    def _ignored(self) -> dict[str, Any]:
        return {name: mask for name, mask in self.made.care.items() if not mask.any()}

    def sample(self) -> _Case:
        # A unit with state keeps its first operations, because their order matters.
        made = self.made
        if len(made) <= SAMPLE:
            return self
        if made.unit.has_state:
            chosen = np.arange(SAMPLE)
        else:
            rng = np.random.default_rng(0)
            wrong = self.wrong(())
            halves = [np.flatnonzero(wrong), np.flatnonzero(~wrong)]
            parts = [rng.choice(half, min(len(half), SAMPLE // 2), replace=False) for half in halves]
            chosen = np.sort(np.concatenate(parts))
        inputs = {name: column[chosen] for name, column in made.inputs.items()}
        expected = {name: column[chosen] for name, column in made.expected.items()}
        care = {name: mask[chosen] for name, mask in made.care.items()}
        part = VectorSet(made.unit, inputs, expected, care, made.origin)
        answers = {name: np.asarray(column)[chosen] for name, column in self.answers.items()}
        return _Case(part, answers, self.results, self.any_nan)

    def explains_any(self, difference: Difference) -> bool:
        try:
            return bool((self.wrong(()) & ~self.wrong((difference,))).any())
        except ValueError:
            return False

    def count(self, composition: Sequence[Difference]) -> int:
        try:
            return int(self.wrong(composition).sum())
        except ValueError:
            return len(self.made) + 1


def _search(whole: _Case, tried: tuple[Difference, ...], flags: _Case) -> tuple[Difference, ...]:
    # Among equally good sets of differences, the smallest wins. Among single differences that explain all results, the
    # one with the fewest wrong flags wins.
    if not whole.wrong(()).any():
        return ()
    sample = whole.sample()
    ranked = sorted(tried, key=lambda difference: sample.count((difference,)))
    alone = itertools.takewhile(lambda difference: not sample.count((difference,)), ranked)
    if complete := [(difference,) for difference in alone if not whole.count((difference,))]:
        return complete[0] if len(complete) == 1 else min(complete, key=flags.count)
    starts: list[tuple[Difference, ...]] = [(), *((first,) for first in ranked[:_BEAM])]
    telling = [difference for difference in ranked if sample.explains_any(difference)][:_PAIRED]
    pairs = [pair for pair in itertools.combinations(telling, 2) if pair[0].topic != pair[1].topic]
    starts += sorted(pairs, key=sample.count)[:_BEAM]
    grown = [_forward(sample, start, tried) for start in starts]
    chosen = min((composition for composition in grown), key=lambda c: (whole.count(c), len(c)))
    return _pruned(whole, chosen)


# Beam width: the number of sets of differences that the search extends.
_BEAM = 4
# Number of differences that are tried in pairs, namely the differences that explain most results alone.
_PAIRED = 30


def _forward(case: _Case, start: tuple[Difference, ...], tried: tuple[Difference, ...]) -> tuple[Difference, ...]:
    composition = start
    while case.count(composition) and len(composition) < MOST + sum(d.topic is Topic.FLAGS for d in composition):
        topics = {difference.topic for difference in composition if difference.topic is not Topic.FLAGS}
        free = [difference for difference in tried if difference.topic not in topics and difference not in composition]
        best = min(free, key=lambda difference: case.count((*composition, difference)), default=None)
        if best is None or case.count((*composition, best)) >= case.count(composition):
            break
        composition = (*composition, best)
    return composition


def _pruned(case: _Case, composition: tuple[Difference, ...]) -> tuple[Difference, ...]:
    for member in composition:
        without = tuple(difference for difference in composition if difference is not member)
        if case.count(without) <= case.count(composition):
            return _pruned(case, without)
    return composition


def _account(
    case: _Case, composition: tuple[Difference, ...], start: tuple[Difference, ...] = ()
) -> tuple[list[Explanation], NDArray[np.bool_]]:
    # Results that an earlier difference explains are not counted twice.
    explanations = []
    before = case.wrong(start)
    for end in range(len(start) + 1, len(composition) + 1):
        after = case.wrong(composition[:end])
        explains, contradicts = int((before & ~after).sum()), int((after & ~before).sum())
        explanations.append(Explanation(composition[end - 1].says, explains, contradicts))
        before = after
    return explanations, before
