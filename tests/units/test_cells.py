"""The matrix of kinds, presets and operands: each cell has a circuit that agrees, or a reason to have none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.units import cells
from tests.units.cells import PAIRS, Cell, mismatches, why_empty

from fp9.engines import ENGINES

RECORD = Path(__file__).parents[2] / "records/accumulators/cells.json"
WITH_CIRCUIT = [cell for cell in cells.cells() if why_empty(cell) is None]


def test_every_cell_has_hardware_or_a_reason_to_have_none() -> None:
    for cell in cells.cells():
        if why_empty(cell) is None:
            cell.unit()
        else:
            with pytest.raises(ValueError, match=r"; give|; an fma has 1|; that is an fma"):
                cell.unit()


@pytest.mark.slow
@pytest.mark.parametrize("cell", WITH_CIRCUIT[::25], ids=str)
def test_the_circuit_of_a_cell_gives_what_the_golden_model_gives(cell: Cell) -> None:
    assert mismatches(cell) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fma", "mac"])
def test_a_wrong_circuit_is_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(kind, "fma_fp32", PAIRS[0])
    monkeypatch.setattr(cells, "evaluate", lambda unit, inputs: {p.name: inputs["c"] * 0 for p in unit.outputs})
    assert mismatches(cell) > cells.COUNT // 2


def test_the_record_states_the_cells_of_today() -> None:
    record = json.loads(RECORD.read_text())
    assert record["pairs"] == [" x ".join(pair) for pair in PAIRS]
    for kind, rows in record["rows"].items():
        for preset, row in rows.items():
            assert preset in ENGINES
            reasons = [why_empty(Cell(kind, preset, pair)) for pair in PAIRS]
            assert row == [cells.COUNT if reason is None else reason for reason in reasons]
