"""Whether a literal of a graph is never 1, case by case, where no solver ends with the whole.

A case says of some nodes whether they are 0 or 1. All that follows is put into the graph as constants, so that of a
shift by a known distance wires remain, and two circuits that shift alike have more nodes in common. CaDiCaL is asked
whether the literal can be 1 in what is left. A case that it does not decide soon is taken in two, by a node that
selects: where it is 0, and where it is 1. So the cases together are all values. The selects are taken as data meets
their multiplexers: of a shifter first the widest stage, so that a case is a range of distances, as wide as the solver
takes it.

The verdict on each is kept in the cache, by the clauses: what was stopped goes on where it was, and what was decided
stays so, whatever the limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import statistics
import time
from collections.abc import Collection, Iterator, Mapping

from fp9.system import cache
from fp9_rtl.tools.cache import load, store
from fp9_sim.netlists import cadical
from fp9_sim.netlists.and_graph import AndGraph, Literal
from fp9_sim.netlists.implied import Implied, Known
from fp9_sim.netlists.solver import State, Verdict

_SECONDS = 8.0
"""Limit of a case before it is taken in two, of the processor."""

_FEWER = 6
"""A node that selects in so many times fewer multiplexers than another is left to the solver."""


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
        node = selecting(left, asked, stands, among)
        state = State.UNFINISHED if last in too_large and node is not None else _kept_state(left, asked)
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


def _kept_state(graph: AndGraph, literal: Literal) -> State:
    """How the question whether a literal is never 1 ended, now or before."""
    clauses = list(_clauses(graph, literal))
    request = {"clauses": hashlib.sha256(json.dumps(clauses).encode()).hexdigest(), "cadical": cadical.version()}
    kept = load(cache.folder("cases"), request)
    if kept is None or (kept["state"] == State.UNFINISHED.value and kept["seconds"] < _SECONDS):
        kept = {"state": _decided(clauses).value, "seconds": _SECONDS}
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


def selecting(graph: AndGraph, literal: Literal, stands: Mapping[int, int], among: Collection[int]) -> int | None:
    """What stands for the node that a case is taken in two by: of those that select in many multiplexers, where data
    meets these first. One of `among`, unless none of these selects; an input where no node does, None without one."""
    levels: dict[int, int] = {}
    selects: dict[int, list[int]] = {}
    inputs = {0, *graph.inputs()}
    for node in sorted(graph.reached(literal)):
        operands = () if node in inputs else graph.literals(node)
        levels[node] = 1 + max((levels[operand // 2] for operand in operands), default=-1)
        for select in _selects(graph, operands, inputs):
            selects.setdefault(select, []).append(levels[node])
    nodes = [node for node in selects if node in stands]
    nodes = [node for node in nodes if stands[node] in among] or nodes
    if not nodes:
        return next((stands[node] for node in levels if node and node in inputs), None)
    most = max(len(selects[node]) for node in nodes)
    many = [node for node in nodes if _FEWER * len(selects[node]) >= most]
    return stands[min(many, key=lambda node: (statistics.median_high(selects[node]), -len(selects[node])))]


def _selects(graph: AndGraph, operands: Collection[Literal], inputs: Collection[int]) -> set[int]:
    """The nodes that choose, where the operands are those of a multiplexer: of its two ANDs, one reads the select and
    the other its inverse. So do those of an XOR, and both its operands select."""
    if not operands or not all(operand & 1 and operand // 2 not in inputs for operand in operands):
        return set()
    one, other = (graph.literals(operand // 2) for operand in operands)
    return {read // 2 for read in one if read ^ 1 in other}
