"""Equality by ABC: three inputs bracketed in two ways, one forgotten, and no ABC."""

from __future__ import annotations

import signal
import subprocess

import pytest

from fp9_sim.netlists.graphs.and_graph import AndGraph
from fp9_sim.netlists.solvers import abc
from fp9_sim.netlists.solvers.solver import State

GRAPH = AndGraph()
A, B, C = (GRAPH.input(f"code[{bit}]") for bit in range(3))
LEFT, RIGHT = GRAPH.both(GRAPH.both(A, B), C), GRAPH.both(A, GRAPH.both(B, C))


@pytest.mark.skipif(not abc.program(), reason="ABC is not installed")
def test_pairs_agree_where_each_is_the_same_for_all_inputs() -> None:
    assert LEFT != RIGHT
    assert abc.agree(GRAPH, [(LEFT, RIGHT), (A, A), (0, 0)], 10).state is State.PROVEN
    assert abc.agree(GRAPH, [(LEFT ^ 1, RIGHT ^ 1)], 10).state is State.PROVEN
    refuted = abc.agree(GRAPH, [(A, A), (LEFT, GRAPH.both(A, B))], 10)
    assert refuted.state is State.REFUTED
    assert refuted.counterexample == {"code[0]": 1, "code[1]": 1, "code[2]": 0}
    assert abc.agree(GRAPH, [(LEFT, RIGHT ^ 1)], 10).state is State.REFUTED


@pytest.mark.skipif(not abc.program(), reason="ABC is not installed")
def test_a_literal_is_never_one_or_comes_with_the_inputs_for_which_it_is() -> None:
    assert abc.never(GRAPH, GRAPH.both(LEFT, C ^ 1), 10).state is State.PROVEN
    refuted = abc.never(GRAPH, GRAPH.both(LEFT ^ 1, GRAPH.both(A, B)), 10)
    assert refuted.state is State.REFUTED
    assert refuted.counterexample == {"code[0]": 1, "code[1]": 1, "code[2]": 0}


@pytest.mark.skipif(not abc.program(), reason="ABC is not installed")
def test_a_literal_is_never_reached_or_comes_with_the_sequence_that_reaches_it() -> None:
    # B takes A AND C, and C stays 0; with C one, B is A of the step before.
    assert abc.never_reached(GRAPH, B, {B: GRAPH.both(A, C), C: C}, 10).state is State.PROVEN
    refuted = abc.never_reached(GRAPH, B, {B: A}, 10)
    assert refuted.state is State.REFUTED
    assert refuted.counterexample["code[0]@0"] == 1


def test_without_abc_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abc, "PROGRAMS", ())
    assert abc.agree(GRAPH, [(LEFT, RIGHT)], 10).state is State.UNFINISHED
    assert abc.never(GRAPH, 0, 10).state is State.UNFINISHED
    assert abc.never_reached(GRAPH, 0, {}, 10).state is State.UNFINISHED


def test_the_system_ends_what_goes_on_beyond_its_processor_seconds() -> None:
    """As an ABC whose worker was killed does: nobody is there to end it, and not all of its steps heed its limit."""
    done = subprocess.run(abc.limited(["sh", "-c", "while :; do :; done"], 0.5), check=False)
    assert -done.returncode in (signal.SIGXCPU, signal.SIGKILL)
