"""Proofs of a multi-format FPU's groups hold for its circuit, and refute the circuit of another FPU."""

from __future__ import annotations

import dataclasses
from random import Random

import pytest

import fp9_rtl
from fp9.formats import format
from fp9.formats.rounding import Overflow, Rounding
from fp9.units import CATALOGUE, FpuGroup, MultiFpu
from fp9_sim.proofs import State, decided
from fp9_sim.proofs.claims import claims_of

_GROUPS = (FpuGroup.CONV, FpuGroup.NONCOMP)


def _unit(names: str, roundings: tuple[Rounding, ...] = (Rounding.RNE, Rounding.RDN), **fields: object) -> MultiFpu:
    formats = tuple(map(format, names.split(",")))
    return MultiFpu("small_fpu", formats, _GROUPS, roundings, **fields)  # type: ignore[arg-type]


_UNITS = [
    _unit("e2m1,e4m3fnuz", flags=False),
    _unit("hif8,hfp8_143,dlfloat16", (Rounding.RNA,)),
    _unit("binary8p3se,e5m2,fp16", nan_boxing=True, overflow=(Overflow.DIRECTED,)),
    _unit("e5m2,hif8,fp16", lanes=2),
    _unit("e3m2,bf16,fp32", (Rounding.RNE, Rounding.SR), mixed=False, wide_overflow=True, stages=2),
]


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("unit", _UNITS, ids=lambda unit: "-".join(fmt.name for fmt in unit.formats))
def test_a_sample_of_each_group_is_proven(unit: MultiFpu, part: int) -> None:
    """Each part has four random cases of each group. Two parts are long: they show the same for other cases."""
    verilog = fp9_rtl.verilog(unit)
    groups = [claim for claim in claims_of(unit) if claim.name.startswith("values of")]
    assert len(groups) == len(_GROUPS)
    for claim in groups:
        for case in Random(unit.formats[0].name).sample(claim.cases, min(12, len(claim.cases)))[part::3]:
            record = decided(unit, claim, case, verilog, 120)
            assert (record.state, record.control_refuted) == (State.PROVEN.value, True), case.name


@pytest.mark.slow
@pytest.mark.parametrize("group", _GROUPS, ids=lambda group: group.value)
def test_another_order_of_formats_is_refuted(group: FpuGroup) -> None:
    unit = _unit("e4m3,e5m2")
    other = fp9_rtl.verilog(dataclasses.replace(unit, formats=unit.formats[::-1]))
    claim = next(claim for claim in claims_of(unit) if claim.name == f"values of {group.value}")
    states = {case.name: decided(unit, claim, case, other, 60).state for case in claim.cases[-3:]}
    assert set(states.values()) == {State.REFUTED.value}, states


def test_lanes_have_cases_of_their_own() -> None:
    noncomp, conv = claims_of(_unit("e4m3,e5m2,fp16", lanes=2))
    assert sum("in 8-bit lanes" in case.name for case in noncomp.cases) == 6 * 2 * 2 + (3 + 2 + 1) * 2
    assert sum("in 8-bit lanes" in case.name for case in conv.cases) == 2 * 2 * 2 * 2


def test_every_operation_and_pair_of_formats_has_a_case() -> None:
    noncomp, conv = claims_of(CATALOGUE["fpu_ocp_fp16"])
    assert len({case.name for case in noncomp.cases}) == 6 * 3 * 3 + (3 + 2 + 1) * 3
    assert len({case.name for case in conv.cases}) == 5 * (2 * 2 * 2 + 2 * 1 + 1 * 2 * 2)


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"tiny_before_rounding": True}, ["values of noncomp"]),
        ({"groups": (FpuGroup.CONV,)}, ["values of conv"]),
        ({"groups": (FpuGroup.ADDMUL,), "stages": 1}, ["handshake", "order"]),
    ],
    ids=str,
)
def test_claims_follow_from_the_fields(fields: dict[str, object], names: list[str]) -> None:
    unit = dataclasses.replace(_unit("e4m3,fp16"), **fields)  # type: ignore[arg-type]
    assert [claim.name for claim in claims_of(unit)] == names
