"""Proofs by parts cover a circuit, step by step, and refute every step, and every wire between steps, that is wrong."""

from __future__ import annotations

import dataclasses

import pytest
from tests.sim.proofs.refutations import each_is_missed, refuted
from tests.support.rosters import thinned

import fp9_rtl
from fp9.engines import engine
from fp9.formats import format
from fp9.units import Dot, Mac
from fp9_sim.netlists.solvers.diagrams import by_diagrams, by_places
from fp9_sim.netlists.solvers.solver import State
from fp9_sim.proofs import claims_of, decided, prove
from fp9_sim.proofs.parts import dismantled
from fp9_sim.proofs.specs.sums import window as window_spec
from fp9_sim.proofs.specs.sums.step import step_of

_UNIT = Dot("dot", (format("e4m3"),), (format("e4m3"),), engine("hopper(G=2)"))


@pytest.mark.slow
@pytest.mark.parametrize(("operand", "name"), thinned([("e5m2", "hopper_fp16(G=2)"), ("hif8", "blackwell(G=2)")]))
def test_sums_in_a_window_are_proven_by_parts(operand: str, name: str) -> None:
    """Results with and without a sign on the window's exponent, operands with 3 and 4 significand bits."""
    fmt = format(operand)
    record = prove(Dot("dot", (fmt,), (fmt,), engine(name)), timeout=100)
    assert record.proven
    assert [case.control_refuted for claim in record.claims for case in claim.cases] == [True] * 10


_WRONG = [
    (".a0_sign(a0[7])", ".a0_sign(a1[7])", "product0: significand"),
    ("assign operand_nan = code ==", "assign operand_nan = code[5:0] ==", "product1: significand"),
    ("product0_significand(multiply_product0_s", "product0_significand(multiply_product1_s", "product0: what"),
    ("rank_of_product0 > rank_of_product1", "rank_of_product0 < rank_of_product1", "special results"),
    ("assign addend = shifted_addend[24:10]", "assign addend = shifted_addend[23:9]", "addend"),
    ("assign dropped =", "assign dropped = c[22] |", "whether bits were dropped"),
    (".product1(align_product1)", ".product1(align_product0)", "the sum of all"),
    ("assign sign = inf ?", "assign sign = ~inf ?", "the sum of all"),
    ("assign flags_inexact = ", "assign flags_inexact = nan ^ ", "the rounding"),
    ("assign flags = {align_invalid", "assign flags = {align_nan", "the rounding"),
]


@pytest.mark.every(3)
@pytest.mark.parametrize(("right", "wrong", "lemma"), thinned(_WRONG))
def test_a_wrong_step_or_wire_is_refuted_where_it_is(right: str, wrong: str, lemma: str) -> None:
    refuted(_UNIT, right, wrong, lemma)


@pytest.mark.slow
def test_a_unit_with_stages_has_its_step_proven_by_parts() -> None:
    """Its lemmas are those of the unit without stages, which is the circuit that they are about."""
    staged, (plain,) = dataclasses.replace(_UNIT, stages=1), claims_of(_UNIT)
    values, of_step, *others = claims_of(staged)
    assert (of_step.name, [claim.name for claim in others]) == ("values of the step", ["handshake", "order"])
    step = step_of(staged)
    assert (step, of_step.cases) == (dataclasses.replace(_UNIT, name=step.name), plain.cases)
    (case,) = values.cases
    record = decided(staged, values, case, fp9_rtl.verilog(staged), 100)
    assert (record.state, record.control_refuted) == (State.PROVEN.value, True)


_MAC = Mac("mac", (format("e4m3"),), (format("e4m3"),), engine("hopper(G=2)"), stages=2)


@pytest.mark.slow
def test_a_unit_with_an_accumulator_is_proven_by_parts() -> None:
    """What it adds to and what it holds after every operation are lemmas beside those of the sum."""
    values, *others = claims_of(_MAC)
    assert [claim.name for claim in others] == ["handshake", "order"]
    assert "HOLD the accumulator" in values.proves
    of_sum = {case.specification for case in claims_of(_UNIT)[0].cases}
    own = [case for case in values.cases if case.specification not in of_sum]
    assert 2 <= len(own) < len(values.cases)
    for case in own:
        record = decided(_MAC, values, case, fp9_rtl.verilog(_MAC), 100)
        assert (record.state, record.control_refuted) == (State.PROVEN.value, True), case.name


_WRONG_AROUND = [
    ("i_c = (payload_op == 2'd0) ?", "i_c = (payload_op == 2'd1) ?", "the addend"),
    ("default: next_payload_result = payload_result", "default: next_payload_result = payload_c", "the rounding"),
    ("2'd2: next_payload_result = 32'd0", "2'd2: next_payload_result = round_result", "the rounding"),
    ("2'd0, 2'd1: value_by_payload_op = {align_invalid", "2'd0: value_by_payload_op = {align_invalid", "the rounding"),
    (".product0_sign(pipeline_payload_product0_s", ".product0_sign(pipeline_payload_product1_s", "the sum of all"),
    (".addend_sign(i_c[31])", ".addend_sign(i_c[31] ^ payload_op[0])", "the sum of all"),
    ("payload_product0_zero <= ", "payload_product0_zero <= ~", "special results"),
]


@pytest.mark.every(3)
@pytest.mark.parametrize(("right", "wrong", "lemma"), thinned(_WRONG_AROUND))
def test_what_is_wrong_around_the_steps_of_an_accumulator_is_refuted(right: str, wrong: str, lemma: str) -> None:
    """Operations, what stands between steps, and registers, which are read as wires."""
    refuted(_MAC, right, wrong, lemma)


def test_gates_between_steps_drive_all_that_is_read_of_them() -> None:
    verilog = fp9_rtl.verilog(_MAC)
    changed = verilog.replace(".c(i_c)", ".c({i_c[31:1], payload_c[0]})")
    assert changed != verilog
    with pytest.raises(ValueError, match="not a chain of steps: gates drive a part of the input c"):
        prove(_MAC, changed)


def test_an_accumulator_whose_products_are_cut_within_a_step_is_compared_with_its_step() -> None:
    deeper = dataclasses.replace(_MAC, stages=3)
    assert [claim.name for claim in claims_of(deeper)][:2] == ["values", "values of the step"]


_FIVE_TERMS = dataclasses.replace(_UNIT, engine=engine("hopper(G=4)"))
_BY_ADDERS = [
    "the sum of all terms, by carry-save adders",
    "a carry-save adder: two rows of the sum of three",
    "the last addition: magnitude and sign of the number that two rows are",
    "the sum high above all products, and of nothing",
]


@pytest.mark.slow
def test_a_sum_of_many_terms_is_proven_by_its_carry_save_adders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of few terms, where it takes a second."""
    monkeypatch.setattr(window_spec, "_MOST_BY_DIAGRAMS", 4)
    (values,), verilog = claims_of(_FIVE_TERMS), fp9_rtl.verilog(_FIVE_TERMS)
    cases = {case.name: case for case in values.cases}
    assert "the sum of all terms" not in cases
    for name in _BY_ADDERS:
        record = decided(_FIVE_TERMS, values, cases[name], verilog, 100)
        assert (record.state, record.control_refuted) == (State.PROVEN.value, True), name
    changed = verilog.replace(" sums_2 = sums ^", " sums_2 = ~sums ^")
    assert changed != verilog
    assert decided(_FIVE_TERMS, values, cases[_BY_ADDERS[0]], changed, 100).state == State.REFUTED.value


def test_lemmas_have_to_cover_the_circuit() -> None:
    each_is_missed(dismantled(_UNIT, fp9_rtl.verilog(_UNIT)).check, window_spec.lemmas(_UNIT))


@pytest.mark.parametrize("field", ["multiply.product0_inf", "multiply.product0_zero"])
def test_a_field_that_no_lemma_says_carries_none(field: str) -> None:
    """Also one that the circuit does not carry: E4M3 has no infinities."""
    netlist, (first, *others) = dismantled(_UNIT, fp9_rtl.verilog(_UNIT)), window_spec.lemmas(_UNIT)
    assert (field in netlist.drives) == field.endswith("zero")
    silent = dataclasses.replace(first, says={name: text for name, text in first.says.items() if name != field})
    with pytest.raises(ValueError, match=f"assumes {field}"):
        netlist.check([silent, *others])


def test_no_lemmas_speak_of_a_window_that_is_filled_up() -> None:
    """One shorter than its result: the sum then has places below that no term has."""
    assert not window_spec.is_offered(dataclasses.replace(_UNIT, engine=engine("hopper(result=fp32,G=2)")))
    assert window_spec.is_offered(dataclasses.replace(_UNIT, engine=engine("blackwell(G=2)")))


def test_gates_between_steps_are_no_chain_of_steps() -> None:
    verilog = fp9_rtl.verilog(_UNIT)
    changed = verilog.replace(".sum(add_sum),\n    .i_exponent", ".sum(add_sum ^ c[0]),\n    .i_exponent")
    assert changed != verilog
    with pytest.raises(ValueError, match="not a chain of steps"):
        prove(_UNIT, changed)


def test_a_diagram_takes_inputs_by_their_places() -> None:
    """Words side by side, the lowest bits first: sums of many words are short diagrams then, and without end else."""
    blif = ".model m\n.inputs a[0] a[1] \\\n b[0] b[1] c\n.outputs o\n"
    assert by_places(blif).splitlines()[1] == ".inputs a[0] b[0] a[1] b[1] c"


@pytest.mark.parametrize(("order", "state"), [("z + y + x", State.PROVEN), ("z + y + (x | 1)", State.REFUTED)])
def test_sums_in_two_orders_are_compared_by_diagrams(order: str, state: State) -> None:
    proof = (
        "module proof (\n  input [15:0] x,\n  input [15:0] y,\n  input [15:0] z,\n  output ok\n);\n"
        f"  wire [15:0] xy = x + y; wire [15:0] one = xy + z; wire [15:0] other = {order};\n"
        "  assign ok = one == other;\nendmodule\n"
    )
    assert by_diagrams("", proof).decide(60).state is state
