"""The page of operations shows the recorded proofs and counts every operation of the corner suite."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest

from fp9.suites import inputs_of
from fp9.units import CATALOGUE, FpuGroup, MultiFpu
from fp9.units.multi_fpu import GROUPS
from fp9_sim import records
from fp9_sim.evidence import operations
from fp9_sim.evidence.catalogue import PROOF
from fp9_sim.evidence.claim import Finding, State
from fp9_sim.evidence.status import Item
from fp9_sim.proofs.claims import claims_of

UNITS = [unit for unit in CATALOGUE.values() if isinstance(unit, MultiFpu)]


@functools.cache
def _cases(unit: MultiFpu) -> list[list[str]]:
    """The names of the cases of each claim, which take a second."""
    return [[case.name for case in claim.cases] for claim in claims_of(unit)]


def _fields(unit: MultiFpu, open_case: str = "") -> records.Fields:
    cases = [
        [{"name": name, "state": "unfinished" if name == open_case else "proven"} for name in some]
        for some in _cases(unit)
    ]
    return {"claims": [{"cases": some} for some in cases]}


def _rows(
    unit: MultiFpu, fields: records.Fields, state: State, monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[str]]:
    def status(units: Any, *_: object) -> list[Item]:
        return [Item(each, PROOF, Finding(state), None, None) for each in units]  # type: ignore[arg-type]

    monkeypatch.setattr(operations, "status", status)
    monkeypatch.setattr(operations.records, "read", lambda *_: fields)
    text = operations.page(Path(), [unit])
    return {name: cells.split(" | ") for name, cells in re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE)}


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_proven_cells_follow_from_the_proven_cases(unit: MultiFpu, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _rows(unit, _fields(unit), State.VALID, monkeypatch)
    assert list(rows) == [op.value for op in unit.operations]
    for group, operations_of_it in GROUPS.items():
        for cell in (cell for op in operations_of_it if op.value in rows for cell in rows[op.value]):
            assert ("**proven**" in cell) == (group in (FpuGroup.CONV, FpuGroup.NONCOMP)), cell
    counted = sum(
        int(number.replace(",", ""))
        for cells in rows.values()
        for number in re.findall(r"^[\d,]+", "\n".join(cells), re.M)
    )
    assert counted == len(inputs_of(unit, "corner", None, 0)["a"])


def test_an_open_case_and_a_stale_record_prove_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = CATALOGUE["fpu_ocp_fp16"]
    assert isinstance(unit, MultiFpu)
    rows = _rows(unit, _fields(unit, "lt of e4m3 and fp16"), State.VALID, monkeypatch)
    assert ["proven" in cell for cell in rows["lt"]] == [False, True, True]
    assert rows["convert"][2].endswith("**proven** to e4m3, e5m2")
    stale = _rows(unit, _fields(unit), State.STALE, monkeypatch)
    assert not any("proven" in cell for cells in stale.values() for cell in cells)
