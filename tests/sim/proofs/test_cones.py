"""Proofs by cones say what the outputs are, net by net, and refute every wire that is wrong where it is."""

from __future__ import annotations

import dataclasses
from types import ModuleType

import pytest
from tests.sim.proofs.refutations import each_is_missed, refuted
from tests.support.rosters import thinned

import fp9_rtl
from fp9.engines import ENGINES, engine
from fp9.formats import format
from fp9.units import Dot, Mac
from fp9_rtl.sums.fixed.places import window_of
from fp9_sim.proofs import claims_of, prove
from fp9_sim.proofs.cones import flattened
from fp9_sim.proofs.specs.sums import fixed as fixed_spec
from fp9_sim.proofs.specs.sums import kulisch as kulisch_spec
from fp9_sim.proofs.specs.sums import pair as pair_spec

_FIXED = Dot("dot", (format("e4m3"),), (format("e4m3"),), engine("fma_fp32(G=3)"))
_HFP8 = (format("hfp8_143"), format("hfp8_152"))
_PAIR = Dot("pair", _HFP8, _HFP8, ENGINES["fmma"])
_KULISCH = Mac("mac", (format("e4m3"),), (format("e4m3"),), engine("exact(G=2)"), stages=4)


@pytest.mark.slow
@pytest.mark.parametrize(("operand", "name"), thinned([("e4m3", "fma_fp16(G=2)"), ("int8", "fma_fp32(G=2)")]))
def test_exact_sums_in_fixed_point_are_proven_by_parts(operand: str, name: str) -> None:
    """A window that holds every addend, and one that an addend can stand above, or be cut below; integers."""
    fmt = format(operand)
    record = prove(Dot("dot", (fmt,), (fmt,), engine(name)), timeout=100)
    assert record.proven
    assert [case.control_refuted for claim in record.claims for case in claim.cases] == [True] * 9


_WRONG = [
    (
        _FIXED,
        "product0_sign_xor_c_31 = product0_sign ^ c[31]",
        "product0_sign_xor_c_31 = product0_sign",
        "product0: its",
    ),
    (_FIXED, "far ? 8'd0 :", "far ? 8'd1 :", "the addend's place"),
    (_FIXED, "assign cut =\n    ((distance", "assign cut =\n    ~((distance", "the addend's place"),
    (_FIXED, "assign subtract =\n    |{c[31],", "assign subtract =\n    |{", "special results"),
    (_FIXED, "outside ? product0_sign_xor_c_31", "outside ? product1_sign_xor_c_31", "the sum of all terms"),
    (_FIXED, "(far ? addend_exponent : 8'hac)", "8'hac", "the sum with its first 1"),
    (_FIXED, "assign sticky = alone ?", "assign sticky = ~alone ?", "the sum with its first 1"),
    (_FIXED, "assign flags_inexact = (guard", "assign flags_inexact = (round", "the rounding"),
    (_PAIR, "term1_exponent > term0_exponent", "term1_exponent < term0_exponent", "the three terms"),
    (_PAIR, "assign both_cut =\n    high[0]", "assign both_cut =\n    ~high[0]", "the three terms"),
    (_PAIR, "assign exponent = alone ?", "assign exponent = cut ?", "the sum of the three terms"),
    (_PAIR, "+ 8'd2)", "+ 8'd1)", "the sum with its first 1"),
    (
        _PAIR,
        "rounded_at_most_0 = $signed(rounded) <= 18'sd0",
        "rounded_at_most_0 = $signed(rounded) < 18'sd0",
        "the rounding",
    ),
    (_KULISCH, "accumulates ? o_payload_sum[49]", "accumulates ? o_payload_sum[50]", "the register after"),
    (_KULISCH, "2'd2: next_o_payload_sum = 54'd0", "2'd3: next_o_payload_sum = 54'd0", "the register after"),
    (_KULISCH, "magnitude_inf ? negative_infinity", "magnitude_inf ? positive_infinity", "the rounding of"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "right", "wrong", "lemma"), thinned(_WRONG))
def test_a_wrong_wire_is_refuted_where_it_is(unit: Dot, right: str, wrong: str, lemma: str) -> None:
    refuted(unit, right, wrong, lemma)


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "spec"), [(_FIXED, fixed_spec), (_PAIR, pair_spec), (_KULISCH, kulisch_spec)])
def test_lemmas_have_to_say_what_they_rest_on_and_the_outputs(unit: Dot, spec: ModuleType) -> None:
    each_is_missed(flattened(unit, fp9_rtl.verilog(unit)).check, spec.lemmas(unit))


def test_a_net_that_is_cut_is_free() -> None:
    """What stands before it is no part of the obligation, and what it shares with another net is one net."""
    circuit = flattened(_FIXED, fp9_rtl.verilog(_FIXED))
    text = "  assign ok = add.sum == place.placed_addend;"
    gates, proof = circuit.obligation(("add.sum",), text, {"place.placed_addend": 1})
    assert "input [89:1] at_place_placed_addend" in proof
    assert " a0" in gates
    assert " a0" not in circuit.obligation(("place.placed_addend",), "  assign ok = place.placed_addend == c;", {})[0]


def test_no_lemmas_speak_of_sums_with_rules_of_their_own() -> None:
    assert fixed_spec.is_offered(_FIXED)
    assert pair_spec.is_offered(_PAIR)
    assert not fixed_spec.is_offered(dataclasses.replace(_FIXED, engine=engine("fma_fp32(G=3,flush_result=true)")))
    assert not fixed_spec.is_offered(dataclasses.replace(_FIXED, stages=1))
    assert not pair_spec.is_offered(dataclasses.replace(_PAIR, stages=1))


@pytest.mark.slow
def test_a_circuit_without_the_nets_where_it_is_cut_is_not_proven() -> None:
    """Registers within the steps of the products: the claim about the values is not made, or ends with a sentence."""
    deeper = dataclasses.replace(_KULISCH, stages=6)
    assert not kulisch_spec.is_offered(deeper)
    with pytest.raises(ValueError, match="mac: no proof by parts: its Verilog has no net place"):
        flattened(deeper, fp9_rtl.verilog(deeper)).check(kulisch_spec.lemmas(deeper))


def test_the_claim_about_an_exact_accumulator_is_one_of_its_register() -> None:
    (values, *others) = claims_of(_KULISCH)
    assert "after every operation the register holds" in values.proves
    assert [claim.name for claim in others] == ["handshake"]


@pytest.mark.parametrize("field", ["lowest", "addend_highest"])
def test_no_lemmas_speak_of_a_window_that_is_too_short(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One place less at either end, and sums could round otherwise than exact ones."""
    window = window_of(_FIXED)
    shorter = dataclasses.replace(window, **{field: getattr(window, field) + (1 if field == "lowest" else -1)})
    monkeypatch.setattr(fixed_spec, "window_of", lambda unit: shorter)
    assert not fixed_spec.is_offered(_FIXED)
