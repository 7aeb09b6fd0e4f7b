"""What the tests of proofs by parts and by cones ask alike: that a wrong wire is refuted where it is, and that no lemma
can be left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

import fp9_rtl
from fp9.units import Unit
from fp9_sim.netlists.solvers.solver import State
from fp9_sim.proofs import CaseRecord, claims_of, decided
from fp9_sim.proofs.parts import Lemma

L = TypeVar("L", bound=Lemma)


def refuted(unit: Unit, right: str, wrong: str, lemma: str) -> CaseRecord:
    """The record of the lemma of the claim about a unit's values, by the start of its name, for its Verilog with one
    text in the place of another."""
    verilog, claim = fp9_rtl.verilog(unit), claims_of(unit)[0]
    assert right in verilog, verilog
    (case,) = (case for case in claim.cases if case.name.startswith(lemma))
    record = decided(unit, claim, case, verilog.replace(right, wrong), 100)
    assert record.state == State.REFUTED.value
    assert record.counterexample
    return record


def each_is_missed(check: Callable[[Sequence[L]], None], lemmas: Sequence[L]) -> None:
    """All lemmas cover a circuit, and without one of them a sentence says what is missing, but for one of numbers
    alone; the control of each differs from it."""
    check(lemmas)
    for place, lemma in enumerate(lemmas):
        assert lemma.broken != lemma.text
        if lemma.says:
            with pytest.raises(ValueError, match=r"no proof by parts: .*(steps|assumes|no lemma determines)"):
                check([*lemmas[:place], *lemmas[place + 1 :]])
