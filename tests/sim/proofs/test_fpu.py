"""The operations of an `fpu` are those of the units for them alone, and a multiply-add by parts; a wrong wire is
refuted where it is."""

from __future__ import annotations

import dataclasses

import pytest
from tests.sim.proofs.refutations import each_is_missed, refuted
from tests.support.rosters import thinned

import fp9_rtl
from fp9.engines import ENGINES
from fp9.formats import format
from fp9.units import Fpu
from fp9_sim.netlists.solvers.solver import State
from fp9_sim.proofs import claims_of, decided
from fp9_sim.proofs.cones import flattened
from fp9_sim.proofs.specs.sums import fpu as fpu_spec

_UNIT = Fpu("fpu", (format("hfp8_152"),), (format("hfp8_152"),), ENGINES["fmma"])
_CASES = [
    "FMMA: as the dot",
    "UPCAST: as the upcast",
    "DOWNCAST: as the cast",
    "the product of a multiply-add, and its addend",
    "the sum of a multiply-add and its rounding, result and flags",
]


def test_every_operation_has_a_case() -> None:
    (values,) = claims_of(_UNIT)
    assert [case.name for case in values.cases] == _CASES
    (plain,) = claims_of(dataclasses.replace(_UNIT, casts=False))
    assert [case.name for case in plain.cases] == [_CASES[0], *_CASES[3:]]


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned([_CASES[1], _CASES[2], _CASES[4]]))
def test_a_case_is_proven_and_its_control_refuted(name: str) -> None:
    """Those that take seconds."""
    (values,) = claims_of(_UNIT)
    (case,) = (case for case in values.cases if case.name == name)
    record = decided(_UNIT, values, case, fp9_rtl.verilog(_UNIT), 100)
    assert (record.state, record.control_refuted) == (State.PROVEN.value, True)


_WRONG = [
    ("assign o_c = i_c & {16{~upcast}}", "assign o_c = i_c", _CASES[1]),
    ("product1_zero = a_zero1 | b_zero1", "product1_zero = a_zero1 & b_zero1", _CASES[0]),
    ("b_nan0 = (&b[14:0] & op_is_1)", "b_nan0 = (&b[13:0] & op_is_1)", _CASES[3]),
    ("a_nan1 = a1_nan & pair", "a_nan1 = a1_nan", _CASES[3]),
    ("downcast ? |significand[6:0] : (guard | round", "downcast ? |significand[6:0] : (guard", _CASES[4]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("right", "wrong", "name"), thinned(_WRONG, 2))
def test_a_wrong_wire_is_refuted_where_it_is(right: str, wrong: str, name: str) -> None:
    refuted(_UNIT, right, wrong, name)


def test_lemmas_have_to_say_what_they_rest_on_and_the_outputs() -> None:
    each_is_missed(flattened(_UNIT, fp9_rtl.verilog(_UNIT)).check, fpu_spec.lemmas(_UNIT))


def test_no_cases_speak_of_an_fpu_with_stages() -> None:
    assert fpu_spec.is_offered(_UNIT)
    assert [claim.name for claim in claims_of(dataclasses.replace(_UNIT, stages=1))] == ["handshake", "order"]
