"""Whether a literal of a graph is never 1, case by case, where no solver ends with the whole.

A case says of some nodes whether they are 0 or 1. All that follows is put into the graph as constants, so that of a
shift by a known distance wires remain, and two circuits that shift alike have more nodes in common. CaDiCaL is asked
whether the literal can be 1 in what is left. A case that it does not decide soon is taken in two, by a node that
selects: where it is 0, and where it is 1. So the cases together are all values. Decisions come first, which branch each
of two circuits takes: they are soon asked for, as most parts are still too large. Where only bits of numbers are left
to select, as distances, the solver is given time. All are taken as data meets their multiplexers: of a shifter first
the widest stage, so that a case is a range of distances, as wide as the solver takes it.

The verdict on each is kept in the cache, by the clauses: what was stopped goes on where it was, and what was decided
stays so, whatever the limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import statistics
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from fp9.system import cache
from fp9_rtl.tools.cache import load, store
from fp9_sim.netlists.graphs.and_graph import AndGraph, Literal
from fp9_sim.netlists.graphs.implied import Implied, Known
from fp9_sim.netlists.solvers import cadical
from fp9_sim.netlists.solvers.solver import State, Verdict

_SECONDS, _LAST_SECONDS = 2.0, 60.0
"""Limits of a case before it is taken in two, of the processor: by a decision, and by a bit of a number."""

_FEWER = 6
"""A node that selects in so many times fewer multiplexers than another is left to the solver."""

_DECISIONS = 2
"""Most nodes that are known at once, as far from the inputs, without being bits of a number."""


def never(
    graph: AndGraph, literal: Literal, free: Collection[int], timeout: float, among: Collection[int] = ()
) -> Verdict:
    """Whether a literal is 0 for all inputs.

    The `free` nodes may have any value at first; where that makes the literal 1, what they depend on is looked at.
    Cases are taken in two by nodes `among` the given ones first. The counterexample says 0 or 1 of every input of the
    graph that it needs, by name.
    """
    started = time.perf_counter()
    implied = Implied(graph, literal, free)
    waiting: list[tuple[dict[int, int], Literal]] = [({}, 0)]
    # Where a node had a value and the case was too large, so are others that end with it: these are not asked.
    too_large: set[Literal] = set()
    while waiting:
        if time.perf_counter() - started > timeout:
            return Verdict(State.UNFINISHED, time.perf_counter() - started)
        known, last = waiting.pop()
        left, asked, stands = implied.left(known)
        if asked == 0:
            continue
        node, decides = selecting(left, asked, stands, among)
        skipped = last in too_large and node is not None
        state = State.UNFINISHED if skipped else _kept_state(left, asked, _SECONDS if decides else _LAST_SECONDS)
        if state is State.REFUTED:
            whole = _whole(Implied(graph, literal, ()), known, timeout - time.perf_counter() + started)
            if whole.state is not State.PROVEN:
                return Verdict(whole.state, time.perf_counter() - started, whole.counterexample)
        elif state is State.UNFINISHED:
            if node is None:
                return Verdict(state, time.perf_counter() - started)
            too_large.add(last)
            both = ((implied.following(known, part), part) for part in (2 * node, 2 * node + 1))
            waiting += [(found, part) for found, part in both if found is not None]
    return Verdict(State.PROVEN, time.perf_counter() - started)


def _kept_state(graph: AndGraph, literal: Literal, seconds: float) -> State:
    """How the question whether a literal is never 1 ended, now or before."""
    clauses = list(_clauses(graph, literal))
    request = {"clauses": hashlib.sha256(json.dumps(clauses).encode()).hexdigest(), "cadical": cadical.version()}
    kept = load(cache.folder("cases"), request)
    if kept is None or (kept["state"] == State.UNFINISHED.value and kept["seconds"] < seconds):
        kept = {"state": _decided(clauses, seconds).value, "seconds": seconds}
        with contextlib.suppress(OSError):
            store(cache.folder("cases"), request, kept)
    return State(kept["state"])


def _decided(clauses: list[cadical.Clause], seconds: float) -> State:
    try:
        model = cadical.model(clauses, seconds, processor=True)
    except TimeoutError:
        return State.UNFINISHED
    return State.PROVEN if model is None else State.REFUTED


def _whole(implied: Implied, known: Known, timeout: float) -> Verdict:
    """A case from the inputs on, no node free, with the inputs at which the literal is 1."""
    case: dict[int, int] | None = {}
    for node, bit in known.items():
        case = case if case is None else implied.following(case, 2 * node + 1 - bit)
    if case is None:
        return Verdict(State.PROVEN, 0.0)
    graph, asked, _ = implied.left(case)
    try:
        model = cadical.model(list(_clauses(graph, asked)), timeout)
    except TimeoutError:
        return Verdict(State.UNFINISHED, timeout)
    if model is None:
        return Verdict(State.PROVEN, 0.0)
    found = {graph.text(2 * node): int(_variable(2 * node) in model) for node in graph.inputs()}
    return Verdict(State.REFUTED, 0.0, found | implied.inputs(case))


def _variable(literal: Literal) -> int:
    return -(literal // 2 + 1) if literal & 1 else literal // 2 + 1


def _clauses(graph: AndGraph, literal: Literal) -> Iterator[cadical.Clause]:
    """That a literal is 1, and what the ANDs before it are."""
    yield (_variable(1),)
    yield (_variable(literal),)
    for node in sorted(graph.reached(literal) - {0, *graph.inputs()}):
        y, (a, b) = _variable(2 * node), map(_variable, graph.literals(node))
        yield from ((-y, a), (-y, b), (y, -a, -b))


def selecting(
    graph: AndGraph, literal: Literal, stands: Mapping[int, int], among: Collection[int]
) -> tuple[int | None, bool]:
    """What stands for the node that a case is taken in two by, and whether it is a decision.

    Of the nodes that select in many multiplexers it is the one where data meets these first: a decision before the bits
    of a number, of the latter one of `among` before others. An input where no node selects, None without one.
    """
    levels, selects, sums = _multiplexers(graph, literal)
    nodes = [node for node in selects if node in stands]
    if not nodes:
        return next((stands[node] for node in graph.inputs() if node in levels), None), False
    most = max(len(selects[node]) for node in nodes)
    many = [node for node in nodes if _FEWER * len(selects[node]) >= most]
    at_once = Counter(levels[node] for node in many)
    numbers = {node for node in many if node in sums or at_once[levels[node]] > _DECISIONS}

    def order(node: int) -> tuple[bool, bool, float, int]:
        other = node in numbers and stands[node] not in among
        return node in numbers, other, statistics.median_high(selects[node]), -len(selects[node])

    chosen = min(many, key=order)
    return stands[chosen], chosen not in numbers


def _multiplexers(graph: AndGraph, literal: Literal) -> tuple[dict[int, int], dict[int, list[int]], set[int]]:
    """How far nodes are from the inputs; how far the multiplexers of those that select; and the bits of sums."""
    levels: dict[int, int] = {}
    selects: dict[int, list[int]] = {}
    sums: set[int] = set()
    inputs = {0, *graph.inputs()}
    for node in sorted(graph.reached(literal)):
        operands = () if node in inputs else graph.literals(node)
        levels[node] = 1 + max((levels[operand // 2] for operand in operands), default=-1)
        chosen_by = _selects(graph, operands, inputs)
        for select in chosen_by:
            selects.setdefault(select, []).append(levels[node])
        if len(chosen_by) > 1:
            sums.add(node)
    return levels, selects, sums


def _selects(graph: AndGraph, operands: Collection[Literal], inputs: Collection[int]) -> set[int]:
    """The nodes that choose, where the operands are those of a multiplexer: of its two ANDs, one reads the select and
    the other its inverse. So do those of an XOR, and both its operands select."""
    if not operands or not all(operand & 1 and operand // 2 not in inputs for operand in operands):
        return set()
    one, other = (graph.literals(operand // 2) for operand in operands)
    return {read // 2 for read in one if read ^ 1 in other}
