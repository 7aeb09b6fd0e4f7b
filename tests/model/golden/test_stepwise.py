"""A model asked operation by operation gives what the whole sequence gives, for a unit of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.rosters import one_of_each_kind

from fp9.golden import Model, evaluate, model_of
from fp9.units import CATALOGUE, Unit
from fp9.units.toml import dumps
from fp9.vectors import generate

UNITS = {unit.name: unit for unit in (*one_of_each_kind(False), *one_of_each_kind(True), CATALOGUE["cast_fp32_x4"])}


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_step_by_step_is_the_sequence(unit: Unit) -> None:
    made, model = generate(unit, "random", 12, seed=1), model_of(dumps(unit))
    for turn in range(2):
        for i in range(len(made)):
            *codes, meaning = model.step(*(int(made.inputs[port.name][i]) for port in unit.inputs))
            for place, (port, code) in enumerate(zip(unit.outputs, codes, strict=True)):
                cares = bool(made.care.get(port.name, np.ones(len(made), np.bool_))[i])
                assert bool(meaning >> place & 1) is cares
                assert not cares or code == made.expected[port.name][i], (turn, i, port.name)
        model.reset()


@pytest.mark.parametrize("unit", [unit for unit in CATALOGUE.values() if unit.has_state], ids=lambda unit: unit.name)
def test_a_sequence_can_be_cut_where_an_operation_starts_anew(unit: Unit) -> None:
    made = generate(unit, "random", 3000, seed=2)
    begins = np.flatnonzero(unit.starts_anew(made.inputs))
    assert len(begins) > 1
    for first in begins[:: len(begins) // 2]:
        behind = {name: column[first:] for name, column in made.inputs.items()}
        for name, column in evaluate(unit, behind).items():
            cares = made.care.get(name, np.ones(len(made), np.bool_))[first:]
            np.testing.assert_array_equal(column[cares], made.expected[name][first:][cares])


def test_another_number_of_codes_is_named() -> None:
    with pytest.raises(TypeError, match="decoder_hif8: 2 codes given; it has 1 inputs"):
        Model(CATALOGUE["decoder_hif8"]).step(1, 2)
