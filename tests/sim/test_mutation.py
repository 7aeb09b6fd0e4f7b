"""Grading by mutation: the netlist evaluator is right, and the suites notice the share of errors that they have to."""

from __future__ import annotations

import numpy as np
import pytest

import fp9_rtl
from fp9.units import CATALOGUE
from fp9_sim import mutation
from fp9_sim.function import function, function_inputs
from fp9_sim.gates import GateNetlist, bit_planes


@pytest.mark.parametrize("name", ["decoder_ocp", "cast_fp32_ocp_rne"])
def test_suites_notice_what_they_have_to(name: str) -> None:
    graded = mutation.grade(CATALOGUE[name], drawn=200)
    assert graded.drawn == 200
    assert graded.sufficient, [suite.survivors for suite in graded.suites]
    assert not graded.undecided


def test_other_mutants_than_the_recorded_ones_are_noticed_too() -> None:
    graded = mutation.grade(CATALOGUE["fma_dlfloat16_hfp8_152"], drawn=100, seed=12, suites=("corner",))
    assert graded.suites[0].rate > 0.99, graded.suites[0].survivors


def test_equal_mutants_leave_the_count() -> None:
    graded = mutation.grade(CATALOGUE["decoder_hif8"], drawn=100)
    corner = next(suite for suite in graded.suites if suite.suite == "corner")
    assert corner.killed + len(graded.equivalent) + len(corner.survivors) == 100


def test_the_function_of_a_mac_has_the_accumulator_as_input() -> None:
    unit = CATALOGUE["mac_dlfloat16"]
    text = function(unit, fp9_rtl.verilog(unit))
    assert [port.name for port in function_inputs(unit)][-1] == "accumulator"
    assert "input [15:0] accumulator;" in text
    assert "always" not in text


def test_the_evaluator_computes_every_gate() -> None:
    kinds = ["$_AND_", "$_OR_", "$_XOR_", "$_NAND_", "$_NOR_", "$_XNOR_", "$_NOT_", "$_MUX_"]
    cells = {
        kind: {"type": kind, "connections": {"A": [2], "B": [3], "S": [4], "Y": [10 + i]}}
        for i, kind in enumerate(kinds)
    }
    ports = {name: {"direction": "input", "bits": [2 + i]} for i, name in enumerate("abs")}
    netlist = GateNetlist.from_json(
        {"cells": cells, "ports": ports | {"y": {"direction": "output", "bits": [*range(10, 18)]}}}
    )
    a, b, s = (np.arange(8) >> i & 1 for i in range(3))
    values = [a & b, a | b, a ^ b, 1 - (a & b), 1 - (a | b), 1 - (a ^ b), 1 - a, np.where(s, b, a)]
    expected = sum(value << i for i, value in enumerate(values))
    inputs = {name: bit_planes(column, 1) for name, column in zip("abs", (a, b, s), strict=True)}
    care = {"y": np.repeat(bit_planes(np.ones(8, dtype=int), 1), 8, axis=0)}
    assert netlist.mismatches(inputs, {"y": bit_planes(expected, 8)}, care, 8) == -1
    expected[5] ^= 4
    assert netlist.mismatches(inputs, {"y": bit_planes(expected, 8)}, care, 8) == 5


def test_a_number_of_mutants_out_of_range_is_named() -> None:
    with pytest.raises(ValueError, match="2 to 510"):
        mutation.grade(CATALOGUE["decoder_hif8"], drawn=1)
