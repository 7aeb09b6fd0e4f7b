"""Proofs hold for the generated Verilog, and refute Verilog with one deliberate error, by a true counterexample."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from tests.support.rosters import DETERMINISTIC, each_kind, thinned

import fp9_rtl
from fp9.cli import main
from fp9.engines import engine
from fp9.formats import format
from fp9.formats.blocks import block_format
from fp9.formats.rounding import NanSign, Overflow, Rounding
from fp9.units import CATALOGUE, Cast, Dot, Fma, Quantiser, Unit
from fp9_sim.proofs import State, decided, prove
from fp9_sim.proofs.claims import HANDSHAKE, ORDER, Claim, claims_of
from fp9_sim.proofs.miter import miter
from fp9_sim.proofs.order import oblige_tagged
from fp9_sim.proofs.specs.sums.step import step_of
from fp9_sim.proofs.tagging import tagged_design

STEPS = [
    u
    for u in CATALOGUE.values()
    if isinstance(u, Dot) and u.stages and not (u.engine.chunk.length or u.engine.step.exact)
]

QUICK = ["decoder_ocp", "decoder_hif8", "upcast_fp32", "cast_fp32_ocp_rne"]


@pytest.mark.every(4)
@pytest.mark.parametrize("name", QUICK)
def test_decoders_and_casts_are_proven_for_all_inputs(name: str) -> None:
    record = prove(CATALOGUE[name], timeout=60)
    assert record.proven
    controls = [case.control_refuted for claim in record.claims for case in claim.cases]
    assert True in controls
    assert False not in controls


@pytest.mark.slow
@pytest.mark.parametrize("rounding", thinned(DETERMINISTIC))
def test_every_deterministic_rounding_is_proven_of_a_cast(rounding: Rounding) -> None:
    unit = dataclasses.replace(CATALOGUE["cast_fp16_hif8"], roundings=DETERMINISTIC, overflow=(Overflow.INF,))
    (values,) = claims_of(unit)
    assert len(values.cases) == len(DETERMINISTIC)
    case = values.cases[DETERMINISTIC.index(rounding)]
    assert f" {rounding.value} " in case.name
    record = decided(unit, values, case, fp9_rtl.verilog(unit), 60)
    assert (record.state, record.control_refuted) == (State.PROVEN.value, True)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rule"), thinned([("mxfp4", "rne"), ("mxint8", "ceil")]))
def test_scales_and_elements_of_a_quantiser_are_proven_for_all_inputs(name: str, rule: str) -> None:
    """MXINT8's elements are integers below 2: amax asks for scales beyond both ends, which ceil reaches."""
    block = dataclasses.replace(block_format(name), length=2)
    record = prove(Quantiser("quantiser", format("bf16"), block, (block.rule(rule),)), timeout=60)
    assert record.proven
    assert [case.control_refuted for claim in record.claims for case in claim.cases] == [True, None, True, None]


@pytest.mark.slow
@pytest.mark.parametrize("rule", thinned(["rne", "rceil"]))
def test_scales_and_elements_over_a_scale_of_the_array_are_proven_case_by_case(rule: str) -> None:
    """NVFP4, of which all cases take minutes: those whose controls are refuted, and the other place of amax."""
    block = dataclasses.replace(block_format("nvfp4"), length=2)
    unit = Quantiser("quantiser", format("bf16"), block, (block.rule(rule),))
    (values,) = claims_of(unit)
    verilog = fp9_rtl.verilog(unit)
    chosen = [case for case in values.cases if not case.name.startswith("element of x0")]
    chosen = [case for case in chosen if case.control or case.name.endswith("amax x1")]
    assert len(chosen) == 5
    for case in chosen:
        assert values.decide(verilog, case, case.specification, 100).state is State.PROVEN, case.name
        if case.control:
            assert values.decide(verilog, case, case.control, 100).state is State.REFUTED, case.name


@pytest.mark.slow
def test_a_stream_with_a_scale_of_the_array_keeps_every_operation() -> None:
    block = dataclasses.replace(block_format("nvfp4"), length=4)
    unit = Quantiser("stream", format("bf16"), block, (block.rule("rne"),), stages=2, lanes=2)
    assert [claim.name for claim in claims_of(unit)] == ["handshake", "order"]
    assert prove(unit, timeout=60).proven


def test_an_obligation_has_the_outputs_alone_that_it_reads() -> None:
    """The cast of one number decides nothing about another: a block is proven element by element."""
    block = dataclasses.replace(block_format("mxfp4"), length=2)
    unit = Quantiser("quantiser", format("bf16"), block, (block.rule("rne"),))
    (values,) = claims_of(unit)
    ports = {case.name: miter(unit, case, case.specification).split(");")[0] for case in values.cases}
    assert "element" not in ports["scale rne, amax x0"]
    assert "element1" in ports["element of x1"]
    assert "element0" not in ports["element of x1"]


def _states(claim: Claim, verilog: str) -> Iterator[State]:
    """How the cases of a claim end, each decided when it is asked for."""
    return (claim.decide(verilog, case, case.specification, 60).state for case in claim.cases)


def _stream(**fields: int) -> Quantiser:
    block = dataclasses.replace(block_format("mxfp4"), length=4)
    return Quantiser("stream", format("bf16"), block, (block.rule("rne"),), **fields)


@pytest.mark.slow
@pytest.mark.parametrize("fields", thinned([{"stages": 1, "lanes": 1}, {"stages": 3, "lanes": 2}]), ids=str)
def test_a_quantiser_that_takes_a_block_in_several_operations_is_proven(fields: dict[str, int]) -> None:
    record = prove(_stream(**fields), timeout=60)
    assert record.proven
    assert [claim.name for claim in record.claims] == ["values", "scales", "handshake", "order"]
    assert all(case.control_refuted is not False for claim in record.claims for case in claim.cases)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "refuted"),
    [
        ("assign i_ready = ", "assign i_ready = 1'b1 | ", {"handshake", "order"}),
        ("enters = i_valid & i_ready", "enters = i_valid", {"handshake", "order"}),
        ("taken ? 15'd0 : larger", "larger", {"scales"}),
    ],
)
def test_a_block_that_loses_a_number_or_keeps_an_old_maximum_is_refuted(
    right: str, wrong: str, refuted: set[str]
) -> None:
    unit = _stream(stages=1, lanes=2)
    verilog = fp9_rtl.verilog(unit)
    assert right in verilog, verilog
    claims = [claim for claim in claims_of(unit) if claim.name in refuted]
    assert len(claims) == len(refuted)
    for claim in claims:
        assert State.REFUTED in _states(claim, verilog.replace(right, wrong)), claim.name


@pytest.mark.slow
@pytest.mark.parametrize("sign", thinned([NanSign.LOST, NanSign.OVERFLOW]))
def test_casts_of_instruction_sets_are_proven(sign: NanSign) -> None:
    """RISC-V's overflow minds the direction of the rounding, and its NaN have no sign; of Arm's, those of overflow."""
    modes, policies = (Rounding.RNE, Rounding.RDN), (Overflow.DIRECTED,)
    record = prove(Cast("cast", format("bf16"), (format("e5m2"),), modes, policies, nan_sign=sign), timeout=60)
    assert record.proven
    assert [case.control_refuted for claim in record.claims for case in claim.cases] == [True] * len(modes)


def _wrong_at(unit: Unit, condition: str, output: str) -> str:
    """The unit's Verilog inside a shell that flips the last bit of an output where a condition on the inputs holds."""
    ports = [*(("input", port) for port in unit.inputs), *(("output", port) for port in unit.outputs)]
    declared = ", ".join(f"{direction} [{port.width - 1}:0] {port.name}" for direction, port in ports)
    inner = [f".{port.name}({'inner' if port.name == output else port.name})" for _, port in ports]
    width = next(port.width for port in unit.outputs if port.name == output)
    return fp9_rtl.verilog(unit).replace(f"module {unit.name}(", "module right(") + (
        f"module {unit.name}({declared});\n"
        f"  wire [{width - 1}:0] inner;\n"
        f"  right right({', '.join(inner)});\n"
        f"  assign {output} = inner ^ ({condition});\n"
        "endmodule\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "output", "condition", "inputs"),
    [
        ("cast_fp32_ocp_rne", "result", "x == 32'h3fc00001", {"x": "0x3fc00001 (1.5000001192092896)"}),
        ("cast_fp32_ocp_rne", "flags", "x == 32'h43e80000 && overflow", {"overflow": "0x1 (inf)"}),
        ("decoder_ocp", "significand", "code == 8'h9c && code_format", {"code": "0x9c (-0.00390625)"}),
    ],
)
def test_one_wrong_input_is_found(name: str, output: str, condition: str, inputs: dict[str, str]) -> None:
    unit = CATALOGUE[name]
    record = prove(unit, _wrong_at(unit, condition, output), timeout=60)
    found = [case.counterexample for claim in record.claims for case in claim.cases if case.counterexample]
    assert not record.proven
    assert found
    for counterexample in found:
        assert inputs.items() <= counterexample["inputs"].items()
        both = counterexample["outputs"][output]
        assert int(both["rtl"], 16) ^ int(both["model"], 16) == 1


def test_units_without_proofs_are_named() -> None:
    with pytest.raises(ValueError, match="no values are proven of units with this kind of sum"):
        prove(CATALOGUE["fma_dlfloat16"])
    for change in ("flush_result=true", "invalid_nan=0xffc00000", "rounding=rdn", "overflow=saturate"):
        with pytest.raises(ValueError, match="no values are proven of units with this kind of sum"):
            prove(Fma("fma", (format("e5m2"),), (format("e5m2"),), engine(f"fma_fp32({change})")))
    with pytest.raises(ValueError, match="no values are proven of units with operands of two widths"):
        prove(dataclasses.replace(CATALOGUE["fpu_dlfloat16_hfp8"], flags=False))


def test_stochastic_rounding_adds_the_random_bits_and_cuts_off_the_rest() -> None:
    """For all float32 and all random bits; one random bit too many is refuted."""
    unit = CATALOGUE["cast_fp32_sr"]
    claim = claims_of(unit)[0]
    case = next(case for case in claim.cases if case.name == "e5m2 sr saturate")
    verilog = fp9_rtl.verilog(unit)
    assert claim.decide(verilog, case, case.specification, 120).state is State.PROVEN
    assert case.control is not None
    assert claim.decide(verilog, case, case.control, 120).state is State.REFUTED


@pytest.mark.slow
def test_a_scale_multiplies_the_source_before_its_one_rounding() -> None:
    unit = CATALOGUE["cast_bf16"]
    claim = claims_of(unit)[0]
    case = next(case for case in claim.cases if case.name == "e5m2 rne saturate")
    assert claim.decide(fp9_rtl.verilog(unit), case, case.specification, 120).state is State.PROVEN


@pytest.mark.slow
def test_special_operands_give_what_ieee_754_says() -> None:
    unit = CATALOGUE["fma_fp32_e5m2"]
    claim = claims_of(unit)[0]
    case = claim.cases[0]
    assert case.name == "e5m2 x e5m2, zero, infinity or NaN"
    assert claim.decide(fp9_rtl.verilog(unit), case, case.specification, 120).state is State.PROVEN


@pytest.mark.parametrize("name", thinned(["mac_dlfloat16", "cast_fp32_x4"]))
def test_results_leave_in_the_order_of_their_operations(name: str) -> None:
    unit = CATALOGUE[name]
    claim = next(claim for claim in claims_of(unit) if claim.name == "order")
    (case,) = claim.cases
    assert claim.decide(fp9_rtl.verilog(unit), case, case.specification, 60).state is State.PROVEN
    assert case.control is not None
    assert claim.decide(fp9_rtl.verilog(unit), case, case.control, 60).state is State.REFUTED


@pytest.mark.parametrize("stage", [0, 1])
def test_a_register_that_does_not_wait_is_refuted(stage: int) -> None:
    """A data register, and an accumulator, that take what comes at every clock."""
    unit = CATALOGUE["mac_dlfloat16"]
    tagged = tagged_design(unit, fp9_rtl.verilog(unit))
    name = next(n for n in tagged.stages[stage] if stage == 0 or n in tagged.state)
    design = json.loads(tagged.design)
    module = design["modules"][unit.name]
    held = module["ports"][f"tag_{name}"]["bits"]
    register = next(cell for cell in module["cells"].values() if cell["connections"].get("Q") == held)
    register["connections"]["EN"] = module["ports"][f"takes_{name}"]["bits"] = ["1"]
    broken = dataclasses.replace(tagged, design=json.dumps(design))
    assert oblige_tagged(unit, broken, "tag").decide(60).state is State.REFUTED


def test_the_command_prints_claims_and_their_state() -> None:
    done = CliRunner().invoke(main, ["prove", "decoder_hif8"])
    assert done.exit_code == 0, done.output
    assert "1 of 1" in done.output
    assert "every code of every format" in done.output


@pytest.mark.parametrize(
    "unit", each_kind(unit for unit in CATALOGUE.values() if unit.kind == "mac"), ids=lambda u: u.name
)
def test_pipelines_lose_and_repeat_nothing(unit: Unit) -> None:
    verilog = fp9_rtl.verilog(unit)
    (handshake,) = (claim for claim in claims_of(unit) if claim.name == HANDSHAKE)
    (case,) = handshake.cases
    assert case.control is not None
    assert handshake.decide(verilog, case, case.specification, 300).state is State.PROVEN
    assert handshake.decide(verilog, case, case.control, 300).state is State.REFUTED


def test_a_control_that_no_sequence_refutes_is_not_taken_as_proven() -> None:
    """No step of induction is tried of a control: what holds in all clocks that it looks at holds in these alone."""
    unit = CATALOGUE["mac_dlfloat16"]
    (handshake,) = (claim for claim in claims_of(unit) if claim.name == HANDSHAKE)
    case = dataclasses.replace(handshake.cases[0], control=handshake.cases[0].specification)
    record = decided(unit, handshake, case, fp9_rtl.verilog(unit), 60)
    assert record.state == State.UNFINISHED.value
    assert record.control_refuted is False


def test_a_pipeline_that_drops_a_stalled_result_is_refuted() -> None:
    unit = CATALOGUE["mac_dlfloat16"]
    verilog = fp9_rtl.verilog(unit)
    ports = [*unit.inputs, *unit.outputs]
    inputs, outputs = ["clk", "rst", "in_valid", "out_ready"], ["in_ready", "out_valid"]
    declared = [f"input {name}" for name in inputs] + [f"output {name}" for name in outputs]
    declared += [f"input [{port.width - 1}:0] {port.name}" for port in unit.inputs]
    declared += [f"output [{port.width - 1}:0] {port.name}" for port in unit.outputs]
    pins = [f".{name}({name})" for name in ["clk", "rst", "in_valid", *outputs, *(port.name for port in ports)]]
    shell = f"module {unit.name}({', '.join(declared)}); right right({', '.join(pins)}, .out_ready(1'b1)); endmodule\n"
    (handshake,) = (claim for claim in claims_of(unit) if claim.name == HANDSHAKE)
    broken = verilog.replace(f"module {unit.name}(", "module right(") + shell
    assert [*_states(handshake, broken)] == [State.REFUTED]


@pytest.mark.slow
def test_sums_are_proven_for_all_operands_and_a_wrong_tie_is_refuted() -> None:
    unit = CATALOGUE["fma_fp32_e5m2"]
    claim = claims_of(unit)[0]
    case = next(case for case in claim.cases if case.name == "e5m2 x e5m2, sum")
    verilog = fp9_rtl.verilog(unit)
    assert claim.decide(verilog, case, case.specification, 120).state is State.PROVEN
    assert case.control is not None
    assert claim.decide(verilog, case, case.control, 120).state is State.REFUTED


@pytest.mark.slow
@pytest.mark.parametrize("lanes", thinned([4, 1]))
def test_the_running_maximum_is_that_of_all_operands(lanes: int) -> None:
    unit = dataclasses.replace(CATALOGUE["cast_fp32_x4"], lanes=lanes, stages=1)
    claim = claims_of(unit)[0]
    case = next(case for case in claim.cases if case.name == "amax")
    verilog = fp9_rtl.verilog(unit)
    assert claim.decide(verilog, case, case.specification, 60).state is State.PROVEN
    assert case.control is not None
    forgets = claim.decide(verilog, case, case.control, 60)
    assert forgets.state is State.REFUTED
    last = forgets.counterexample[unit.lane_names("x")[-1]]
    assert forgets.counterexample["amax"] == last & 0x7FFFFFFF, "the lane that the control forgets was the largest"


@pytest.mark.parametrize("unit", STEPS, ids=lambda unit: unit.name)
def test_the_step_that_values_are_compared_with_has_every_operand(unit: Dot) -> None:
    """Scales among them: a step without would refute the circuit."""
    read = [port for port in unit.inputs if port.name != "op"]
    assert read == [port for port in step_of(unit).inputs if port in unit.inputs]


@pytest.mark.parametrize("name", ["mac_dlfloat16_gated", "mac4_kulisch_ocp"])
def test_no_order_is_claimed_of_registers_that_keep_other_operations_data(name: str) -> None:
    names = [claim.name for claim in claims_of(CATALOGUE[name])]
    assert HANDSHAKE in names
    assert ORDER not in names
