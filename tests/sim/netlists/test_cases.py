"""Comparisons case by case: together the cases are all values, and what differs in one of them alone is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fp9.formats import format
from fp9.units import Decoder
from fp9_sim.netlists.gates import AND, XOR, GateNetlist
from fp9_sim.netlists.graphs.and_graph import AndGraph, Literal
from fp9_sim.netlists.graphs.cuts import narrowest_near
from fp9_sim.netlists.graphs.implied import Implied
from fp9_sim.netlists.solvers import cases, equality
from fp9_sim.netlists.solvers.equality import Comparison
from fp9_sim.netlists.solvers.solver import State

WIDTH = 4


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[State]:
    """How each question to the solver ended; nothing is kept of other runs, and no case of many nodes is decided."""
    monkeypatch.setenv("FP9_CACHE", str(tmp_path))
    decided, ended = cases._decided, []

    def few(clauses: list[tuple[int, ...]], seconds: float) -> State:
        ended.append(decided(clauses, seconds) if len(clauses) < 60 else State.UNFINISHED)
        return ended[-1]

    monkeypatch.setattr(cases, "_decided", few)
    return ended


def _shifted_twice(graph: AndGraph, word: list[Literal], first: Literal, second: Literal) -> list[Literal]:
    """A word moved up by 2 where `second` is 1, and by 1 where `first` is, 0 coming in."""
    for by, select in ((2, second), (1, first)):
        word = [graph.choose(select, word[i - by] if i >= by else 0, bit) for i, bit in enumerate(word)]
    return word


def _added(graph: AndGraph, a: list[Literal], b: list[Literal]) -> list[Literal]:
    carry, total = 0, []
    for x, y in zip(a, b, strict=True):
        total.append(graph.differ(graph.differ(x, y), carry))
        carry = graph.either(graph.both(x, y), graph.both(carry, graph.either(x, y)))
    return total


def _sum_of_shifted_differs(graph: AndGraph, wrong: bool) -> Literal:
    """Whether a + b, shifted, differs from the sum of both shifted; `wrong`: it does for one shift and one sum too."""
    a, b = ([graph.input(f"{name}[{i}]") for i in range(WIDTH)] for name in "ab")
    first, second = graph.input("s[0]"), graph.input("s[1]")
    late = _shifted_twice(graph, _added(graph, a, b), first, second)
    early = _added(graph, *(_shifted_twice(graph, word, first, second) for word in (a, b)))
    differs = 0
    for x, y in zip(late, early, strict=True):
        differs = graph.either(differs, graph.differ(x, y))
    at = graph.both(graph.both(first, second ^ 1), graph.both(late[1], graph.both(late[2], late[3])))
    return graph.either(differs, at) if wrong else differs


def test_what_no_solver_ends_with_is_proven_by_cases(asked: list[State]) -> None:
    graph = AndGraph()
    assert cases.never(graph, _sum_of_shifted_differs(graph, wrong=False), (), 60).state is State.PROVEN
    assert State.UNFINISHED in asked, "the whole was not decided"


def test_a_difference_in_one_case_alone_is_found_with_its_inputs(asked: list[State]) -> None:
    graph = AndGraph()
    verdict = cases.never(graph, _sum_of_shifted_differs(graph, wrong=True), (), 60)
    assert verdict.state is State.REFUTED
    assert State.UNFINISHED in asked
    bits = {name: verdict.counterexample.get(name, 0) for name in (graph.text(2 * node) for node in graph.inputs())}
    a, b = (sum(bits[f"{name}[{i}]"] << i for i in range(WIDTH)) for name in "ab")
    assert (bits["s[0]"], bits["s[1]"], (a + b) & 7) == (1, 0, 7)


def test_cases_are_asked_once(asked: list[State]) -> None:
    for _ in range(2):
        graph = AndGraph()
        verdict = cases.never(graph, _sum_of_shifted_differs(graph, wrong=False), (), 60)
        assert verdict.state is State.PROVEN
    before = len(asked)
    graph = AndGraph()
    cases.never(graph, _sum_of_shifted_differs(graph, wrong=False), (), 60)
    assert len(asked) == before


def test_what_was_decided_is_not_asked_again_with_more_time(
    asked: list[State], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {name: getattr(cases, name) for name in ("_SECONDS", "_LAST_SECONDS")}
    for times in (1, 2):
        for name, seconds in limits.items():
            monkeypatch.setattr(cases, name, times * seconds)
        before, graph = len(asked), AndGraph()
        assert cases.never(graph, _sum_of_shifted_differs(graph, wrong=False), (), 60).state is State.PROVEN
    assert before
    assert set(asked[before:]) == {State.UNFINISHED}


def test_no_time_decides_nothing(asked: list[State]) -> None:
    graph = AndGraph()
    assert cases.never(graph, _sum_of_shifted_differs(graph, wrong=False), (), 0.0).state is State.UNFINISHED


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(("number", "state"), [(1, State.PROVEN), (2, State.REFUTED)])
def test_values_that_never_come_refute_nothing(number: int, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    # 10 and 11 are never both 1. Mutant 1 exchanges what they choose where they are; mutant 2 where 10 alone is.
    # No other way than cases has time.
    gates = [(AND, 2, 3, 0, 10), (XOR, 2, 3, 0, 11), (AND, 10, 11, 0, 12), (AND, 10, 4, 0, 13)]
    rows = np.array([*gates, (AND, 12, 5, 0, 14), (AND, 10, 6, 0, 15), (XOR, 13, 14, 0, 16), (XOR, 16, 15, 0, 17)])
    ports = {"code": (2, 3, 4), "mutant": (5, 6)}
    netlist = GateNetlist(rows, np.empty((0, 2), dtype=np.int64), 18, ports, {"y": (17,)})
    patterns = {"code": np.zeros(1, dtype=np.uint8)}
    comparison = Comparison(Decoder("apart", (format("e4m3"),)), netlist, "mutant", patterns)
    monkeypatch.setattr(equality, "_WHOLE_SECONDS", 0.001)
    monkeypatch.setattr(equality, "_WITHOUT_CASES", 0.0)
    verdict = comparison.equal(number, 10)
    assert verdict.state is state
    if state is State.REFUTED:
        assert verdict.counterexample["code"] & 3 == 3


def test_what_follows_of_known_nodes() -> None:
    graph = AndGraph()
    a, b, c = (graph.input(name) for name in "abc")
    both, neither = graph.both(a, b), graph.both(a ^ 1, c ^ 1)
    top = graph.both(both ^ 1, neither ^ 1)
    implied = Implied(graph, top, ())
    none = implied.following({}, both)
    assert none == {x // 2: v for x, v in ((both, 1), (a, 1), (b, 1), (neither, 0), (top, 0))}
    assert implied.following({}, top) is not None
    assert implied.following(implied.following({}, top) or {}, a) == {
        x // 2: v for x, v in ((top, 1), (both, 0), (neither, 0), (a, 1), (b, 0))
    }
    assert implied.following(none, top) is None, "both are not 1"


def test_a_case_says_what_its_nodes_have_to_be() -> None:
    # Of x = NOT (a AND b) known to be 1, the graph that is left knows that a and b are not both 1.
    graph = AndGraph()
    a, b, c = (graph.input(name) for name in "abc")
    product = graph.both(a, b)
    literal = graph.either(graph.both(product, c), graph.both(a, b ^ 1))
    implied = Implied(graph, literal, ())
    left, asked, _ = implied.left(implied.following({}, product ^ 1) or {})
    inputs = {left.text(2 * node): 2 * node for node in left.inputs()}
    assert inputs.keys() >= {"a", "b"}
    assert asked == left.both(left.both(inputs["a"], inputs["b"]) ^ 1, left.both(inputs["a"], inputs["b"] ^ 1))


def test_the_narrowest_place_near_nodes() -> None:
    # Inputs 1 to 6, of which 1 to 4 meet in 9; of what is made of 5, 6 and 9 the ends are two, or all three.
    operands = {7: (1, 2), 8: (3, 4), 9: (7, 8), 10: (9, 5), 11: (9, 6), 12: (5, 6)}
    assert narrowest_near(operands, {10, 11}) == {10, 11}
    assert narrowest_near(operands, {10, 11, 12}) == {5, 6, 9}, "as few, and nearer to the inputs"
    assert narrowest_near(operands, set()) == set()
    # A chain that reads input 1 at every node: that alone would do, but leaves the chain's beginning behind it.
    chain = {2: (1, 1)} | {node: (node - 1, 1) for node in range(3, 12)}
    assert narrowest_near(chain, {10, 11}) == {1, 6}


def test_selects_are_taken_as_data_meets_their_multiplexers() -> None:
    graph = AndGraph()
    word = [graph.input(f"a[{i}]") for i in range(WIDTH)]
    first, second = graph.input("s[0]"), graph.input("s[1]")
    literal: Literal = 0
    for bit in _shifted_twice(graph, word, first, second):
        literal = graph.differ(literal, bit)
    implied, known, taken = Implied(graph, literal, ()), {}, []
    for _ in range(2):
        left, asked, stands = implied.left(known)
        taken.append(cases.selecting(left, asked, stands, {first // 2, second // 2})[0])
        known = implied.following(known, 2 * (taken[-1] or 0)) or {}
    assert taken == [second // 2, first // 2]


def test_a_decision_is_taken_before_the_bits_of_a_number() -> None:
    # A word is moved up by a sum of two numbers, and only then exchanged for another where a AND b is 1.
    graph = AndGraph()
    word, other = ([graph.input(f"{name}[{i}]") for i in range(8)] for name in "xy")
    distance = _added(graph, *([graph.input(f"{name}[{i}]") for i in range(2)] for name in "de"))
    decision = graph.both(graph.input("a"), graph.input("b"))
    literal: Literal = 0
    for moved, bit in zip(_shifted_twice(graph, word, *distance), other, strict=True):
        literal = graph.either(literal, graph.choose(decision, moved, bit))
    implied, known, taken = Implied(graph, literal, ()), {}, []
    for _ in range(2):
        left, asked, stands = implied.left(known)
        taken.append(cases.selecting(left, asked, stands, ()))
        known = implied.following(known, 2 * (taken[-1][0] or 0)) or {}
    assert taken[0] == (decision // 2, True)
    assert not taken[1][1]


def test_without_a_select_an_input_is_taken_and_no_node_of_a_constant() -> None:
    graph = AndGraph()
    both = graph.both(graph.input("a"), graph.input("b"))
    left, asked, stands = Implied(graph, both, ()).left({})
    assert cases.selecting(left, asked, stands, ())[0] in graph.inputs()
    assert cases.selecting(left, 1, stands, ()) == (None, False)
