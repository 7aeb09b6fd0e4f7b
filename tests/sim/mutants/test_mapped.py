"""Mutants of mapped netlists: each is the error that its name says, and with none chosen the circuit is as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.cells import needs_cells

import fp9_rtl
from fp9.formats import format
from fp9.units import CATALOGUE, Decoder
from fp9.vectors import sets as vectors
from fp9_sim import mutants
from fp9_sim.cli.prove import _KINDS
from fp9_sim.mutants import mapped, mutation_run
from fp9_sim.netlists.gates import bit_planes
from fp9_sim.netlists.graphs.clocked import circuit

UNIT = CATALOGUE["decoder_hif8"]

with_library = needs_cells("osu018")


def test_the_command_names_every_kind() -> None:
    assert tuple(mutants.KINDS) == _KINDS


def cell(kind: str, **pins: int) -> dict[str, Any]:
    directions = {pin: "output" if pin == "Y" else "input" for pin in pins}
    return {
        "type": kind,
        "port_directions": directions,
        "connections": {pin: [bit] for pin, bit in pins.items()},
        "parameters": {},
    }


@with_library
def test_nets_are_stuck_and_exchanged() -> None:
    # y0 = a & b and y1 = a | b; the first three errors are of constants, the fourth exchanges them.
    bits = {"a": [2], "b": [3], "y": [4, 5]}
    module: dict[str, Any] = {
        "ports": {name: {"direction": "output" if name == "y" else "input", "bits": net} for name, net in bits.items()},
        "netnames": {name: {"bits": net} for name, net in bits.items()},
        "cells": {"both": cell("AND2X1", A=2, B=3, Y=4), "either": cell("OR2X1", A=2, B=3, Y=5)},
    }
    changes = [((4, "0"),), ((4, "1"),), ((5, "0"),), ((4, 5), (5, 4))]
    mapped._insert(module, [(str(change), change) for change in changes])
    netlist = mapped._in_gates(Decoder("two", (format("e4m3"),)), module)
    a, b = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    both, either, one = a & b, a | b, np.ones(4, dtype=int)
    expected = [(both, either), (0 * one, either), (one, either), (both, 0 * one), (either, both), (both, either)]
    for number, (y0, y1) in enumerate(expected):
        inputs = {"a": bit_planes(a, 1), "b": bit_planes(b, 1), "mutant": bit_planes(np.full(4, number), 8)}
        care = {"y": bit_planes(np.full(4, 3), 2)}
        assert netlist.mismatches(inputs, {"y": bit_planes(y0 + 2 * y1, 2)}, care, 4) == -1, number


@pytest.mark.slow
@with_library
@pytest.mark.parametrize("level", mapped.LEVELS)
@pytest.mark.parametrize("name", ["decoder_hif8", "mac_dlfloat16"])
def test_a_mapped_circuit_with_no_error_chosen_agrees_with_the_vectors(name: str, level: str) -> None:
    """`killed` raises where it does not; of errors most are noticed, and no two are the same."""
    unit = CATALOGUE[name]
    (drawn,) = mapped.draw(unit, circuit(unit, fp9_rtl.verilog(unit)), level, 40, (5,))
    assert len({mutant.change for mutant in drawn.mutants}) == 40
    assert len(mutation_run.killed(drawn, vectors.generate(unit, "smoke"))) > 35


@with_library
def test_every_error_of_a_small_mapped_circuit_is_noticed_or_equal() -> None:
    scored = mutants.score(UNIT, kind=mutants.KINDS["mapped"], seeds=(1, 2))
    assert scored.sufficient and not scored.undecided
    assert scored.provenance["library"].startswith("osu018 ")
    assert {mutant.level for mutant in scored.equivalent} <= {*mapped.LEVELS}
