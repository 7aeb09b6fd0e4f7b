"""Sums of numbers that are never subnormal are proven by cones: of accumulators with chunks what every register takes,
of windows that hang at the largest product the result; a wrong wire is refuted where it is."""

from __future__ import annotations

import dataclasses
from types import ModuleType

import pytest
from tests.sim.proofs.refutations import each_is_missed, refuted
from tests.support.rosters import thinned

import fp9_rtl
from fp9.engines import Addend, Chunk, Engine, Result, Step, Window
from fp9.formats import FixedFormat
from fp9.formats.fixed import Specials
from fp9.formats.rounding import Overflow, Rounding
from fp9.units import CATALOGUE, Dot, Mac
from fp9_sim.netlists.solvers.solver import State
from fp9_sim.proofs import claims_of, decided
from fp9_sim.proofs.cones import flattened
from fp9_sim.proofs.specs.sums import aligned as aligned_spec
from fp9_sim.proofs.specs.sums import chunk as chunk_spec
from fp9_sim.proofs.tagging import tagged_design

_OPERAND = FixedFormat("operand", 3, 1, 3, False, Specials.MERGED, Rounding.RNA)
_RESULT = FixedFormat("result", 4, 4, 7, False, Specials.MERGED, Rounding.RNA)
_CHUNKS = Mac(
    "chunks", (_OPERAND,), (_OPERAND,), Engine("chunks", Result(_RESULT, Rounding.RNA), chunk=Chunk(3)), stages=3
)
_ALIGNED = Dot(
    "cut",
    (_OPERAND,),
    (_OPERAND,),
    Engine("cut", Result(_RESULT, Rounding.RNA), step=Step(2), window=Window(4, addend=Addend.ALIGNED)),
)


_CASES = [(unit, case.name) for unit in (_CHUNKS, _ALIGNED) for case in claims_of(unit)[0].cases]


@pytest.mark.every(5)
@pytest.mark.parametrize(("unit", "name"), thinned(_CASES, 2))
def test_every_lemma_is_proven(unit: Dot, name: str) -> None:
    values = claims_of(unit)[0]
    (case,) = (case for case in values.cases if case.name == name)
    record = decided(unit, values, case, fp9_rtl.verilog(unit), 100)
    assert (record.state, record.control_refuted) == (State.PROVEN.value, True)


def test_the_claim_about_chunks_is_one_of_every_register() -> None:
    values, *others = claims_of(_CHUNKS)
    assert values.proves.startswith("what every register takes")
    assert [claim.name for claim in others] == ["handshake", "order"]


_WRONG = [
    (_CHUNKS, "product_nan = a_nan | b_nan", "product_nan = a_nan", "product"),
    (_CHUNKS, "(any_state_filled & ~payload_op_is_1) ?", "any_state_filled ?", "the chunk after"),
    (_CHUNKS, "adds_term ? round_flags_inexact : 1'b0", "round_flags_inexact", "the chunk after"),
    (_CHUNKS, "steps_is_3 = steps == 2'd3", "steps_is_3 = steps == 2'd2", "the steps of"),
    (_CHUNKS, "state_filled & (payload_op >= 3'd4)", "state_filled & (payload_op >= 3'd3)", "the steps of"),
    (_CHUNKS, "i_c = payload_restarts ?", "i_c = payload_joins ?", "the total after"),
    (
        _CHUNKS,
        "payload_result <= payload_joins ? round_result : i_c",
        "payload_result <= round_result",
        "the total after",
    ),
    (_ALIGNED, "dropped = shifted_product0_lost |", "dropped =", "the products in"),
    (_ALIGNED, "({1'b0, exponent} + 6'd2)", "({1'b0, exponent} + 6'd1)", "the products' sum"),
    (_ALIGNED, "o_dropped = i_dropped |", "o_dropped = ~i_dropped |", "the addend, cut"),
    (_ALIGNED, "& {5{~c_nan & |top}}", "& {5{~c_nan & ~|top}}", "the addend, cut"),
    (_ALIGNED, "underflow | dropped)", "underflow | ~dropped)", "the sum and its"),
]


@pytest.mark.every(2)
@pytest.mark.parametrize(("unit", "right", "wrong", "lemma"), thinned(_WRONG))
def test_a_wrong_wire_is_refuted_where_it_is(unit: Dot, right: str, wrong: str, lemma: str) -> None:
    refuted(unit, right, wrong, lemma)


@pytest.mark.parametrize(("unit", "spec"), [(_CHUNKS, chunk_spec), (_ALIGNED, aligned_spec)])
def test_lemmas_have_to_say_what_they_rest_on_and_the_outputs(unit: Dot, spec: ModuleType) -> None:
    """Also what every register takes next, of which there are several."""
    each_is_missed(flattened(unit, fp9_rtl.verilog(unit)).check, spec.lemmas(unit))


def test_registers_that_read_themselves_have_the_names_of_their_nets() -> None:
    nets = flattened(_CHUNKS, fp9_rtl.verilog(_CHUNKS)).nets
    held = {name: len(bits) for name, bits in nets.items() if name.endswith(".held")}
    assert held == {"chunk_payload_chunk.held": 9, "chunk_state_filled.held": 2, "total_payload_result.held": 9}
    assert nets["chunk_payload_chunk.held"] == nets["chunk.payload_chunk"] != nets["chunk_payload_chunk.next"]


def test_no_lemmas_speak_of_other_chunks_and_windows() -> None:
    """Chunks of one step, a total in another format, a register within the products; windows of all terms, or short;
    other roundings and overflow."""
    assert chunk_spec.is_offered(_CHUNKS)
    for fields in ({"chunk": 1}, {"promotion": FixedFormat("wide", 6, 9, 31, False, Specials.MERGED, Rounding.RNA)}):
        engine = _CHUNKS.engine.changed(**fields)
        assert not chunk_spec.is_offered(dataclasses.replace(_CHUNKS, engine=engine))
    assert not chunk_spec.is_offered(dataclasses.replace(_CHUNKS, stages=4))
    assert aligned_spec.is_offered(_ALIGNED)
    for fields in (
        {"addend": Addend.INSIDE},
        {"window": 3},
        {"rounding": Rounding.RTZ},
        {"overflow": Overflow.SATURATE},
    ):
        engine = _ALIGNED.engine.changed(**fields)
        assert not aligned_spec.is_offered(dataclasses.replace(_ALIGNED, engine=engine))


def test_a_constant_that_passes_registers_is_no_data_of_a_stage() -> None:
    """No sum divides by zero: neither chunk nor total keeps that flag, of which no stage says when it was taken."""
    unit = CATALOGUE["mac_dlfloat16_chunked"]
    stages = tagged_design(unit, fp9_rtl.verilog(unit)).stages
    assert len(stages) == unit.stages
    assert all(stages)
