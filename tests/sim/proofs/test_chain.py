"""An accumulator of blocks with scales computes what the sum without stages does, step by step; a wrong step or wire is
refuted where it is."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from tests.sim.proofs.refutations import refuted
from tests.support.rosters import thinned

import fp9_rtl
from fp9.engines import engine
from fp9.formats import format
from fp9.units import CATALOGUE, Mac
from fp9_sim.netlists.solvers.solver import State
from fp9_sim.proofs import claims_of, decided
from fp9_sim.proofs.specs.sums import chain as chain_spec

_E5M2 = (format("e5m2"),)
_MAC = dataclasses.replace(
    CATALOGUE["mac4_fp32_mxfp8"], name="mac", a=_E5M2, b=_E5M2, engine=engine("mx(products=2)"), stages=2
)


_STEPS = [
    "the addend of an operation",
    *("decode", "multiply", "sum", "scale", "align", "add", "normalise", "round"),
    "the result of an operation",
]


@pytest.mark.slow
def test_the_claim_about_an_accumulator_of_blocks_is_one_of_every_step() -> None:
    values, *others = claims_of(_MAC)
    assert [case.name.split(":")[0] for case in values.cases] == _STEPS
    assert [claim.name for claim in others] == ["handshake", "order"]


@pytest.mark.slow
@pytest.mark.parametrize("step", thinned(_STEPS))
def test_an_accumulator_of_blocks_is_proven_step_by_step(step: str) -> None:
    values = claims_of(_MAC)[0]
    (case,) = (case for case in values.cases if case.name.startswith(step))
    record = decided(_MAC, values, case, fp9_rtl.verilog(_MAC), 100)
    assert (record.state, record.control_refuted) == (State.PROVEN.value, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "lemma"),
    thinned(
        [
            (".a0_sign(a0[7])", ".a0_sign(a1[7])", "multiply"),
            ("assign inf = any_of_term", "assign inf = ~any_of_term", "sum"),
            (".a_scale(a_scale)", ".a_scale(b_scale)", "scale"),
            ("assign product_zero = ", "assign product_zero = product_nan ^ ", "scale"),
            ("wire product_larger = ", "wire product_larger = ~", "align"),
            ("i_c = (payload_op == 2'd0) ?", "i_c = (payload_op == 2'd1) ?", "the addend"),
            ("2'd2: next_payload_result = 32'd0", "2'd2: next_payload_result = round_result", "the result"),
            ("payload_product_zero <= ", "payload_product_zero <= ~", "align"),
        ]
    ),
)
def test_what_is_wrong_in_a_step_or_around_it_is_refuted_there(right: str, wrong: str, lemma: str) -> None:
    refuted(_MAC, right, wrong, lemma)


@pytest.mark.slow
@pytest.mark.parametrize("other", [{"stages": 3}, {"a": (format("e4m3"),), "b": (format("e4m3"),)}])
def test_what_has_other_steps_is_compared_whole(other: dict[str, Any]) -> None:
    """Steps that registers cut, and products without infinities, whose zeros are handed on in another way."""
    assert isinstance(_MAC, Mac)
    assert chain_spec.is_offered(_MAC)
    assert [case.name for case in claims_of(dataclasses.replace(_MAC, **other))[0].cases] == ["every operation"]
