"""Whether a literal of a graph is never 1, case by case, where no solver ends with the whole.

A case says of some nodes whether they are 0 or 1. All that follows is put into the graph as constants, so that of a
shift by a known distance wires remain, and two circuits that shift alike have more nodes in common. CaDiCaL is asked
whether the literal can be 1 in what is left. A case that it does not decide soon is taken in two, by a node that
chooses between many others: where it is 0, and where it is 1. So the cases together are all values. Of the nodes that
choose between many some are tried, and that is taken with which least is left (to look ahead: Heule and van Maaren
2009).

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

_SECONDS = 15.0
"""Limit of a case before it is taken in two, of the processor."""

_SMALLER = 0.85
"""What part of the nodes of a case that was not decided has to be left until it is asked again."""

_TRIED, _FEWER = 8, 4
"""How many nodes are tried of those that choose between most others, and of the first that choose between at most so
many times fewer."""


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
        left, asked, _ = implied.left(known)
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
        waiting += [(part, size) for part in _parts(implied, known)]
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


def _parts(implied: Implied, known: Known) -> list[dict[int, int]]:
    """The two parts of a case, by the node that leaves the fewest nodes in both together; without one that cannot be,
    or that is decided by what is left of it."""
    tried = []
    for node in _chosen(implied, known):
        both = (implied.following(known, literal) for literal in (2 * node, 2 * node + 1))
        parts = [(nodes, part) for part in both if part is not None and (nodes := _nodes_left(implied, part))]
        tried.append((sum(nodes for nodes, _ in parts), [part for _, part in parts]))
    return min(tried, key=lambda found: found[0])[1]


def _nodes_left(implied: Implied, known: Known) -> int:
    graph, asked, _ = implied.left(known)
    return len(graph.reached(asked)) if asked else 0


def _chosen(implied: Implied, known: Known) -> list[int]:
    """Nodes by which a case may be taken in two: read by many, by some as they are, inverted by as many others, as the
    select of multiplexers is. These are the ones most read so, and the first from the inputs of all much read so."""
    graph, asked, stands = implied.left(known)
    read: Counter[Literal] = Counter()
    level: dict[int, int] = {}
    inputs = {0, *graph.inputs()}
    for node in sorted(graph.reached(asked)):
        operands = () if node in inputs else graph.literals(node)
        level[node] = 1 + max((level[operand // 2] for operand in operands), default=-1)
        read.update(operands)
    both_ways = {node: min(read[2 * node], read[2 * node + 1]) for node in level if node in stands}
    much = max(both_ways.values()) / _FEWER
    most_read = sorted(both_ways, key=lambda node: (-both_ways[node], level[node]))
    first = sorted(
        (node for node in both_ways if both_ways[node] >= much), key=lambda node: (level[node], -both_ways[node])
    )
    return [stands[node] for node in dict.fromkeys((*most_read[:_TRIED], *first[:_TRIED]))]
