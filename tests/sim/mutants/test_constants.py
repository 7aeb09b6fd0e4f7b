"""Mutants of constants: each is another number where the circuit has one, and with none chosen it is as it was."""

from __future__ import annotations

import numpy as np
import pytest

import fp9_rtl
from fp9.formats import format
from fp9.units import CATALOGUE, Decoder
from fp9.vectors import sets as vectors
from fp9_sim import mutants
from fp9_sim.mutants import constants, mutation_run
from fp9_sim.netlists.gates import bit_planes
from fp9_sim.netlists.graphs.clocked import circuit

TWO = Decoder("two", (format("e4m3"),))
TEXT = "module two(input [2:0] a, output [3:0] y);\n  assign y = a == 3'd5 ? {1'b0, a} : a + 4'd6;\nendmodule\n"
SIX, FIVE = "4'd6", "3'd5"


@pytest.mark.parametrize(
    ("level", "others"),
    [
        (constants.STEP, {FIVE: ["3'd4", "3'd6"], SIX: ["4'd5", "4'd7"]}),
        (constants.FLIP, {FIVE: ["3'd7", "3'd1"], SIX: ["4'd4", "4'd2", "4'd14"]}),
    ],
)
def test_every_other_number_is_drawn_once(level: str, others: dict[str, list[str]]) -> None:
    """Neighbours of a number, and all that differ from it in one bit: that of the last place is a neighbour."""
    (drawn,) = constants.draw(TWO, TEXT, level, 100, (1,))
    said = sorted(mutant.change.split(": ")[1] for mutant in drawn.mutants)
    assert said == sorted(f"{right} is {wrong}" for right, all_ in others.items() for wrong in all_)


@pytest.mark.parametrize("level", constants.LEVELS)
def test_an_error_is_the_number_that_its_name_says(level: str) -> None:
    (drawn,) = constants.draw(TWO, TEXT, level, 100, (1,))
    a = np.arange(8)
    care = {"y": bit_planes(np.full(8, 15), 4)}
    for number, change in enumerate(["", *(mutant.change for mutant in drawn.mutants)]):
        right, _, wrong = change.partition(": ")[2].partition(" is ")
        six, five = (int((wrong if right == name else name).split("d")[1]) for name in (SIX, FIVE))
        inputs = {"a": bit_planes(a, 3), "mutant": bit_planes(np.full(8, number), 8)}
        expected = {"y": bit_planes(np.where(a == five, a, (a + six) % 16), 4)}
        assert drawn.netlist.mismatches(inputs, expected, care, 8) == -1, change


@pytest.mark.slow
@pytest.mark.parametrize("level", constants.LEVELS)
@pytest.mark.parametrize("name", ["cast_fp16_hif8", "mac_dlfloat16"])
def test_a_circuit_with_no_error_chosen_agrees_with_the_vectors(name: str, level: str) -> None:
    """`killed` raises where it does not."""
    unit = CATALOGUE[name]
    (drawn,) = constants.draw(unit, circuit(unit, fp9_rtl.verilog(unit)), level, 40, (5,))
    assert len({mutant.change for mutant in drawn.mutants}) == 40
    assert len(mutation_run.killed(drawn, vectors.generate(unit, "smoke"))) > 20


def test_every_wrong_constant_of_a_small_circuit_is_noticed_or_equal() -> None:
    scored = mutants.grade(CATALOGUE["decoder_hif8"], kind=mutants.KINDS["constants"])
    assert scored.drawn > 20
    assert scored.sufficient and not scored.undecided
