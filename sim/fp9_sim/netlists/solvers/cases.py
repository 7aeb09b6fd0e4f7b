"""Prove by case splits that a literal (a node or an inverted node) of an AND graph is always 0.

A case split helps if a SAT solver does not finish on the whole proof. A proof case assumes fixed values for some nodes,
and unit propagation turns implied nodes into constants. With a fixed shift distance, for example, a shifter consists of
wires. A case that takes too long is split at a multiplexer's select node. The proof first splits cases by the values of
control signals, and then by bits of numbers.
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
"""Processor time in seconds after which a case is split, for control signals and for bits of numbers."""

_FEWER = 6

_DECISIONS = 2
"""Largest number of control signals at one level. More select nodes at a level are bits of a number."""


def never(
    graph: AndGraph, literal: Literal, free: Collection[int], timeout: float, among: Collection[int] = ()
) -> Verdict:
    """Decide by case split whether a literal of an AND graph is 0 for all inputs."""
    started = time.perf_counter()
    # The proof first treats the nodes in `free` as inputs that can have any value.
    implied = Implied(graph, literal, free)
    waiting: list[tuple[dict[int, int], Literal]] = [({}, 0)]
    # If a case was too large, other cases with the same last value are split at once, without asking the solver.
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
            # The case is repeated with the logic that drives the `free` nodes.
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
    yield (_variable(1),)
    yield (_variable(literal),)
    for node in sorted(graph.reached(literal) - {0, *graph.inputs()}):
        y, (a, b) = _variable(2 * node), map(_variable, graph.literals(node))
        yield from ((-y, a), (-y, b), (y, -a, -b))


def selecting(
    graph: AndGraph, literal: Literal, stands: Mapping[int, int], among: Collection[int]
) -> tuple[int | None, bool]:
    """Return the node at which a case is split, and whether the node is a control signal."""
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
    if not operands or not all(operand & 1 and operand // 2 not in inputs for operand in operands):
        return set()
    one, other = (graph.literals(operand // 2) for operand in operands)
    return {read // 2 for read in one if read ^ 1 in other}
