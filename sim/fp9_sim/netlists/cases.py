"""Whether a literal of a graph is never 1, case by case, where no solver ends with the whole.

A case says of some nodes whether they are 0 or 1. All that follows is put into the graph as constants, so that of a
shift by a known distance wires remain, and two circuits that shift alike have more nodes in common. CaDiCaL is asked
whether the literal can be 1 in what is left. A case that it does not decide soon is taken in two, by a node that
chooses between many others: first where it is 0, then where it is 1. So the cases together are all values.

The verdict on each is kept in the cache, by the clauses: what was stopped goes on where it was.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections import Counter
from collections.abc import Collection, Iterator

from fp9.system import cache
from fp9_rtl.tools.cache import load, store
from fp9_sim.netlists import cadical
from fp9_sim.netlists.and_graph import AndGraph, Literal
from fp9_sim.netlists.implied import Implied, Known
from fp9_sim.netlists.solver import State, Verdict

_SECONDS = 8.0
"""Limit of a case before it is taken in two, of the processor."""

_SMALLER = 0.85
"""What part of the nodes of a case that was not decided has to be left until it is asked again."""

_FEWER = 2
"""A node is taken that chooses between at least so many times fewer than the one that chooses most; it is the first of
these, as with it known most of what others choose is known, too."""


def never(graph: AndGraph, literal: Literal, free: Collection[int], timeout: float) -> Verdict:
    """Whether a literal is 0 for all inputs.

    The `free` nodes may have any value at first; where that makes the literal 1, what they depend on is looked at. The
    counterexample says 0 or 1 of every input of the graph that it needs, by name.
    """
    started = time.perf_counter()
    implied = Implied(graph, literal, free)
    # Cases, each with the nodes that were left where a case that it is part of was asked last.
    waiting: list[tuple[dict[int, int], float]] = [({}, float("inf"))]
    while waiting:
        if time.perf_counter() - started > timeout:
            return Verdict(State.UNFINISHED, time.perf_counter() - started)
        known, size = waiting.pop()
        left, asked, stands = implied.left(known)
        nodes = left.reached(asked)
        if asked == 0:
            continue
        if len(nodes) < _SMALLER * size:
            size = len(nodes)
            state = _kept_state(left, asked)
            if state is State.PROVEN:
                continue
            if state is State.REFUTED:
                whole = _whole(Implied(graph, literal, ()), known, timeout - time.perf_counter() + started)
                if whole.state is State.PROVEN:
                    continue
                return Verdict(whole.state, time.perf_counter() - started, whole.counterexample)
        node = _chooses(left, asked, stands)
        both = (implied.following(known, literal) for literal in (2 * node, 2 * node + 1))
        waiting += [(case, size) for case in both if case is not None]
    return Verdict(State.PROVEN, time.perf_counter() - started)


def _kept_state(graph: AndGraph, literal: Literal) -> State:
    """How the question whether a literal is never 1 ended, now or before."""
    clauses = list(_clauses(graph, literal))
    digest = hashlib.sha256(json.dumps(clauses).encode()).hexdigest()
    request = {"clauses": digest, "seconds": _SECONDS, "cadical": cadical.version()}
    kept = load(cache.folder("cases"), request)
    if kept is None:
        kept = {"state": _decided(clauses).value}
        with contextlib.suppress(OSError):
            store(cache.folder("cases"), request, kept)
    return State(kept["state"])


def _decided(clauses: list[cadical.Clause]) -> State:
    try:
        model = cadical.model(clauses, _SECONDS, processor=True)
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


def _chooses(graph: AndGraph, literal: Literal, stands: dict[int, int]) -> int:
    """The node of the first graph by which a case is taken in two: read by many, by some as it is, inverted by as many
    others, as the select of multiplexers is; the one with the shortest way from the inputs."""
    read: Counter[Literal] = Counter()
    level: dict[int, int] = {}
    inputs = {0, *graph.inputs()}
    for node in sorted(graph.reached(literal)):
        operands = () if node in inputs else graph.literals(node)
        level[node] = 1 + max((level[operand // 2] for operand in operands), default=-1)
        read.update(operands)
    chosen = {node: min(read[2 * node], read[2 * node + 1]) for node in level if node in stands}
    enough = max(chosen.values()) / _FEWER
    return stands[min((node for node in chosen if chosen[node] >= enough), key=lambda node: (level[node], node))]
