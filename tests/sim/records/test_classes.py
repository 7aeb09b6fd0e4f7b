"""A form joins the class of an equivalent circuit, and of no other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import fp9_rtl
from fp9.formats import format
from fp9.units import CATALOGUE, Decoder
from fp9_sim import records
from fp9_sim.netlists import aiger
from fp9_sim.netlists.aiger import Aiger
from fp9_sim.netlists.solvers import abc, same
from fp9_sim.netlists.solvers.solver import State
from fp9_sim.records import Join, classes

UNIT = CATALOGUE["decoder_hif8"]
STAGED = Decoder("decoder", (format("e4m3"),), stages=1)

needs_abc = pytest.mark.skipif(not abc.program(), reason="ABC is not installed")


@pytest.fixture(scope="module")
def circuit() -> Aiger:
    return Aiger.read(aiger.of_unit(UNIT))


def rewritten(circuit: Aiger) -> Aiger:
    """The same function with twice as many gates on its outputs: each output is ANDed with itself through two gates."""
    top, outputs, ands = circuit.first + len(circuit.ands), [], list(circuit.ands)
    for output in circuit.outputs:
        ands.append((max(output, 1), min(output, 1)))
        ands.append((2 * top, min(2 * top, output)))
        outputs.append(2 * top + 2)
        top += 2
    return replace(circuit, outputs=tuple(outputs), ands=tuple(ands))


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [UNIT, STAGED], ids=lambda unit: unit.name)
def test_an_aiger_file_is_written_as_it_was_read(unit: Decoder) -> None:
    data = aiger.of_unit(unit)
    found = Aiger.read(data)
    assert Aiger.read(found.to_bytes()) == found
    widths = sum(port.width for port in unit.outputs)
    assert len(found.outputs) >= widths and bool(found.following) == (unit.stages > 0)


def test_an_aiger_file_counts_as_the_golden_model_does(circuit: Aiger) -> None:
    """Every code of the decoder, by evaluating the gates."""
    from fp9.vectors import sets as vectors

    made = vectors.generate(UNIT, "corner")
    names = {name.split(" ")[0]: name.split(" ")[1] for name in circuit.names}
    bit = {names[f"o{i}"]: output for i, output in enumerate(circuit.outputs)}
    for row in range(0, 256, 7):
        code = int(made.inputs["code"][row])
        values = {0: 0}
        for i in range(circuit.inputs):
            values[i + 1] = code >> int(names[f"i{i}"].partition("[")[2].rstrip("]")) & 1
        for variable, pair in enumerate(circuit.ands, start=circuit.first):
            values[variable] = min(values[literal // 2] ^ literal % 2 for literal in pair)
        sign = bit["sign"]
        assert values[sign // 2] ^ sign % 2 == made.expected["sign"][row]


# --- comparisons ------------------------------------------------------------------------------------------------------


@needs_abc
def test_an_equivalent_circuit_is_proven_with_a_refuted_control(circuit: Aiger) -> None:
    found = same.compare(circuit, rewritten(circuit), 60)
    assert (found.state, found.control, found.proven) == (State.PROVEN, State.REFUTED, True)


@needs_abc
def test_registers_are_compared_from_reset_on() -> None:
    staged = Aiger.read(aiger.of_unit(STAGED))
    assert same.compare(staged, staged, 60).proven
    held = replace(staged, initial=(1 - staged.initial[0], *staged.initial[1:]))
    outputs = [same.compare(staged, replace(held, initial=tuple(1 for _ in held.initial)), 60).state]
    assert State.PROVEN not in outputs


@pytest.mark.parametrize("place", [0, 40, 92])
def test_an_inverted_cell_is_refuted_by_both_solvers(circuit: Aiger, place: int) -> None:
    wrong = circuit.inverted(place)
    assert same.by_sat(circuit, wrong, 60) is State.REFUTED
    if abc.program():
        assert same.compare(circuit, wrong, 60).state is State.REFUTED


def test_without_abc_the_sat_solver_decides(circuit: Aiger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abc, "PROGRAMS", ("no-such-abc",))
    found = same.compare(circuit, rewritten(circuit), 60)
    assert found.proven and found.tool == "python-sat"
    staged = Aiger.read(aiger.of_unit(STAGED))
    assert same.compare(staged, staged, 60).state is State.UNFINISHED, "registers need ABC"


def test_other_ports_are_another_function(circuit: Aiger) -> None:
    renamed = replace(circuit, names=tuple(name.replace("sign", "negative") for name in circuit.names))
    assert same.compare(circuit, renamed, 60).state is State.REFUTED


def test_what_does_not_end_in_time_is_unfinished(circuit: Aiger) -> None:
    assert same.by_sat(circuit, rewritten(circuit), 1e-3) is State.UNFINISHED


# --- classes ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert records.circuit_of(UNIT, tmp_path).joined is Join.NONE
    assert records.certify(UNIT, tmp_path) == tmp_path / "functions" / "decoder_hif8.json"
    assert records.certify(UNIT, tmp_path) is None
    return tmp_path


def otherwise(monkeypatch: pytest.MonkeyPatch, form: str, canonical: str | None = None) -> None:
    """The unit has a circuit of another form, and of another canonical digest where one is given."""
    monkeypatch.setattr(fp9_rtl, "circuit_digest", lambda unit: form, raising=False)
    if canonical:
        monkeypatch.setattr(fp9_rtl, "canonical_digest", lambda unit: canonical, raising=False)


def test_the_certified_circuit_is_a_member(folder: Path, circuit: Aiger) -> None:
    found = records.circuit_of(UNIT, folder)
    assert (found.joined, found.forms) == (Join.MEMBER, {found.form})
    assert classes.certified(UNIT, folder) == circuit


def test_the_order_of_operands_changes_no_function(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = records.circuit_of(UNIT, folder)
    otherwise(monkeypatch, "b" * 64)
    found = records.circuit_of(UNIT, folder)
    assert (found.joined, found.forms) == (Join.CANONICAL, {"b" * 64, before.form})


@needs_abc
def test_a_form_joins_by_an_equivalence_proof(folder: Path, circuit: Aiger, monkeypatch: pytest.MonkeyPatch) -> None:
    before = records.circuit_of(UNIT, folder)
    otherwise(monkeypatch, "b" * 64, "c" * 64)
    assert records.circuit_of(UNIT, folder).forms == {"b" * 64}
    monkeypatch.setattr(aiger, "of_unit", lambda unit: rewritten(circuit).to_bytes())
    found = records.join(UNIT, folder, 60)
    assert found is not None and found.proven
    joined = records.circuit_of(UNIT, folder)
    assert (joined.joined, joined.forms) == (Join.PROOF, {"b" * 64, before.form})
    members = json.loads((folder / "functions" / "decoder_hif8.json").read_text())["forms"]
    assert [(member["by"], member.get("control")) for member in members] == [
        ("certified", None),
        ("equivalence proof", "refuted"),
    ]
    assert records.join(UNIT, folder, 60) is None, "a member is not compared again"


@pytest.mark.parametrize("ended", [State.REFUTED, State.UNFINISHED])
def test_what_is_not_proven_joins_nothing(folder: Path, ended: State, monkeypatch: pytest.MonkeyPatch) -> None:
    otherwise(monkeypatch, "b" * 64, "c" * 64)
    comparison = same.Comparison(ended, State.UNFINISHED, "some", 1.0)
    monkeypatch.setattr(classes, "compare", lambda one, other, timeout: comparison)
    assert records.join(UNIT, folder, 60) == comparison
    assert records.circuit_of(UNIT, folder).joined is Join.NONE


def test_a_proof_whose_control_was_not_refuted_joins_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    otherwise(monkeypatch, "b" * 64, "c" * 64)
    void = same.Comparison(State.PROVEN, State.UNFINISHED, "some", 1.0)
    monkeypatch.setattr(classes, "compare", lambda one, other, timeout: void)
    records.join(UNIT, folder, 60)
    assert records.circuit_of(UNIT, folder).joined is Join.NONE


def test_another_function_begins_a_class_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    otherwise(monkeypatch, "b" * 64, "c" * 64)
    assert records.certify(UNIT, folder) is not None
    found = records.circuit_of(UNIT, folder)
    assert (found.joined, found.forms) == (Join.MEMBER, {"b" * 64})


def test_a_damaged_circuit_is_named(folder: Path) -> None:
    (folder / "functions" / "decoder_hif8.aig.xz").write_bytes(b"no circuit")
    with pytest.raises(ValueError, match=r"decoder_hif8.aig.xz is no certified circuit"):
        classes.certified(UNIT, folder)
