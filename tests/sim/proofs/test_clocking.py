"""Handshakes, resets and enables that a spec chooses: proven, simulated, written out, for every kind of unit."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest
from tests.support.rosters import thinned

import fp9_rtl
from fp9.units import CATALOGUE, Clocking, Handshake, Reset, Unit
from fp9.vectors import sets as vectors
from fp9_sim import SIMULATORS, compare, regress
from fp9_sim.netlists.solvers.abc import program
from fp9_sim.netlists.solvers.solver import State
from fp9_sim.proofs import prove_text
from fp9_sim.proofs.claims import CLOCKED, Claim, claims_of

VARIANTS = {
    "valid": {"handshake": Handshake.VALID},
    "valid_enable_async_low": {"handshake": Handshake.VALID, "reset": Reset.ASYNC_LOW, "enable": True},
    "enable_sync_low": {"reset": Reset.SYNC_LOW, "enable": True},
    "async_data": {"reset": Reset.ASYNC, "reset_data": True},
    "flush": {"flush": True},
    "flush_valid_enable_data": {"handshake": Handshake.VALID, "enable": True, "reset_data": True, "flush": True},
}
"""Every option and every reset, each at least once."""

_NARROW = sorted(CATALOGUE.values(), key=lambda unit: -sum(port.width for port in unit.inputs))
KINDS = {unit.kind: dataclasses.replace(unit, stages=max(unit.stages, 1)) for unit in _NARROW}  # type: ignore[call-arg]
"""A unit of each kind: the one with the narrowest operands."""

COUNT = 300
"""Operations of a simulation."""

SMALL = dataclasses.replace(CATALOGUE["decoder_hif8"], stages=2)  # type: ignore[call-arg]


def varied(unit: Unit, variant: str) -> Unit:
    return dataclasses.replace(unit, **VARIANTS[variant])  # type: ignore[arg-type]


each_kind = pytest.mark.parametrize("kind, variant", thinned(zip(KINDS, itertools.cycle(VARIANTS), strict=False)))
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def clocked(unit: Unit) -> list[Claim]:
    return [claim for claim in claims_of(unit) if claim.name in CLOCKED]


def proven(unit: Unit, claim: Claim, verilog: str) -> bool:
    (case,) = claim.cases
    assert case.control is not None
    assert claim.decide(verilog, case, case.control, 120).state is State.REFUTED
    return claim.decide(verilog, case, case.specification, 120).state is State.PROVEN


def test_every_reset_and_every_option_is_varied() -> None:
    given = [(name, value) for variant in VARIANTS.values() for name, value in variant.items()]
    assert {value for name, value in given if name == "reset"} | {Reset.SYNC} == set(Reset)
    assert {name for name, _ in given} == {field.name for field in dataclasses.fields(Clocking)}


@pytest.mark.slow
@each_kind
def test_order_and_count_are_kept(kind: str, variant: str) -> None:
    unit = varied(KINDS[kind], variant)
    claims = clocked(unit)
    assert claims
    assert all(proven(unit, claim, fp9_rtl.verilog(unit)) for claim in claims)


@pytest.mark.every(3)
@every_variant
def test_order_and_count_are_kept_with_every_variant(variant: str) -> None:
    unit = varied(SMALL, variant)
    assert all(proven(unit, claim, fp9_rtl.verilog(unit)) for claim in clocked(unit))


def test_a_stage_that_a_disabled_clock_moves_is_refuted() -> None:
    unit = varied(SMALL, "valid_enable_async_low")
    right = fp9_rtl.verilog(unit)
    wrong = right.replace("else if (enable)", "else", 1)
    assert wrong != right
    (case,) = clocked(unit)[0].cases
    assert clocked(unit)[0].decide(wrong, case, case.specification, 120).state is State.REFUTED


def test_a_stage_that_keeps_an_operation_in_a_flush_is_refuted() -> None:
    unit = varied(SMALL, "flush")
    right = fp9_rtl.verilog(unit)
    wrong = right.replace("else if (flush)", "else if (1'b0)", 1)
    assert wrong != right
    handshake = next(claim for claim in clocked(unit) if claim.name == "handshake")
    (case,) = handshake.cases
    assert handshake.decide(wrong, case, case.specification, 120).state is State.REFUTED


@pytest.mark.slow
def test_bench_notices_an_operation_that_outlives_a_flush(build_dir: Path) -> None:
    unit = varied(SMALL, "flush")
    wrong = fp9_rtl.verilog(unit).replace("else if (flush)", "else if (1'b0)")
    result = regress(unit, vectors.generate(unit, "random", COUNT), build_dir=build_dir, verilog=wrong)
    assert any("after a flush" in violation for violation in result.violations)


@pytest.mark.slow
@each_kind
def test_results_are_right_and_in_time(kind: str, variant: str, build_dir: Path) -> None:
    unit = varied(KINDS[kind], variant)
    result = regress(unit, vectors.generate(unit, "random", COUNT), build_dir=build_dir)
    assert result.passed, result


@pytest.mark.slow
@pytest.mark.parametrize("variant", thinned(VARIANTS, 2))
def test_both_simulators_agree(variant: str, build_dir: Path) -> None:
    unit = varied(SMALL, variant)
    result = compare(unit, vectors.generate(unit, "random", COUNT), build_dir=build_dir)
    assert result.passed and [run.simulator for run in result.runs] == list(SIMULATORS)


@pytest.mark.every(3)
@pytest.mark.skipif(not program(), reason="ABC is missing")
@every_variant
def test_the_text_is_the_circuit(variant: str) -> None:
    assert prove_text(varied(SMALL, variant)).proven
