"""Mutation scores are kept as records, of which the model carries a table; an installed package is never written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

import fp9_rtl
from fp9.units import CATALOGUE
from fp9.vectors.mutation_scores import TABLE
from fp9_rtl.tools.yosys import yosys_version
from fp9_sim.mutants import KINDS, NETLIST, MutationScore, SuiteScore, keep, proven, read, recorded
from fp9_sim.mutants.draw import Mutant

_SUITES = (SuiteScore("smoke", "a" * 64, 10, 3, ()),)
_PROVENANCE = {"date": "2026-01-02", "command": "fp9 mutate some"}
SCORED = MutationScore("some", "netlist", (), "f" * 64, "c" * 64, 4, (5,), (), (), (), _SUITES, 0, 1.5, _PROVENANCE)


def test_a_record_elsewhere_leaves_the_models_table_alone(tmp_path: Path) -> None:
    before = TABLE.stat()
    assert keep(SCORED, tmp_path) == tmp_path / "mutation" / "netlist" / "some.json"
    assert TABLE.stat() == before
    assert read(tmp_path, "some") == json.loads(json.dumps(SCORED.to_dict()))
    assert read(tmp_path, "other") is None


def test_a_record_of_the_source_computes_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "SOURCE", tmp_path)
    monkeypatch.setattr(recorded, "TABLE", tmp_path / "mutation_scores.json")
    keep(SCORED, tmp_path)
    suite = {"mutants": 3, "killed": 3, "share": 1.0, "seeds": [5], "verilog_sha256": "f" * 64}
    assert json.loads((tmp_path / "mutation_scores.json").read_text()) == {"some": {"a" * 64: suite}}


def test_proofs_of_mutants_count_for_the_very_text_and_its_yosys_alone(tmp_path: Path) -> None:
    unit = CATALOGUE["decoder_ocp"]
    digest = hashlib.sha256(fp9_rtl.verilog(unit).encode()).hexdigest()
    mutant = Mutant("gate", 1, 2, "inv at some cell")
    yosys = {"yosys": yosys_version()}
    own = replace(SCORED, unit=unit.name, verilog_sha256=digest, equivalent=(mutant,), provenance=_PROVENANCE | yosys)
    assert proven(unit, NETLIST, tmp_path) == frozenset()
    for record, found in (
        (own, {mutant}),
        (replace(own, verilog_sha256="0" * 64), set()),
        (replace(own, provenance=_PROVENANCE | {"yosys": "0.1"}), set()),
    ):
        path = keep(record, tmp_path)
        assert proven(unit, NETLIST, tmp_path) == found
    path.write_text("{")
    assert proven(unit, NETLIST, tmp_path) == frozenset()


def test_no_table_is_made_of_a_damaged_record(tmp_path: Path) -> None:
    path = keep(SCORED, tmp_path)
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"some.json is no valid record"):
        recorded.table(tmp_path)


def test_the_seed_that_came_last_is_none_that_suites_were_written_with() -> None:
    assert set(KINDS["held-out"].seeds).isdisjoint(NETLIST.seeds)
