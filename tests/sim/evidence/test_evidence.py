"""The state of records follows from the records and the circuits alone, and an update measures what is missing."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.sim.support.standins import combinational

import fp9_rtl
from fp9.cli import main
from fp9.units import CATALOGUE
from fp9_rtl.synthesis.libraries import LIBRARIES, SIDE_BY_SIDE
from fp9_sim import evidence, records
from fp9_sim.evidence import page
from fp9_sim.evidence.status import ranked
from fp9_sim.netlists.solvers.abc import program
from fp9_sim.proofs.claims import claims_of
from fp9_sim.records import EARLIER_CIRCUIT, EARLIER_SUITE, NO_RECORD

UNIT = CATALOGUE["decoder_hif8"]
CLAIMS = {claim.name: claim for claim in evidence.CLAIMS}
_LACKING = {
    "mutation/mapped": not LIBRARIES["osu018"].file.path().is_file(),
    "area": not all(LIBRARIES[name].file.path().is_file() for name in SIDE_BY_SIDE),
}
HERE = [claim for claim in evidence.CLAIMS if claim.name != "energy" and not _LACKING.get(claim.name)]
"""The claims that this machine can measure of a small unit."""

FUNCTION = {claim.name for claim in HERE if claim.about == "function"}
FORM = {claim.name for claim in HERE if claim.about == "form"}


def states(folder: Path) -> dict[str, tuple[str, str]]:
    """State and reason of each claim about the unit that does not hold."""
    items = evidence.status([UNIT], folder, HERE)
    return {item.claim.name: (item.finding.state.value, item.finding.why) for item in items if not item.finding.holds}


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change a record in place."""
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def updated(folder: Path, *claims: evidence.Claim) -> list[evidence.Ended]:
    items = evidence.status([UNIT], folder, claims)
    return list(evidence.update(items, folder, hours=1, limit=60, workers=1))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of an update that was killed when the first of them was written, and of the one after it."""
    folder = tmp_path_factory.mktemp("records")
    assert states(folder) == {claim.name: ("missing", NO_RECORD) for claim in HERE}
    script = folder / "program.py"
    script.write_text(
        "import os, pathlib, signal, sys\n"
        "from fp9.units import CATALOGUE\n"
        "from fp9_sim.evidence import CLAIMS, status, update\n"
        "if __name__ == '__main__':\n"
        "    folder = pathlib.Path(sys.argv[1])\n"
        "    claims = [claim for claim in CLAIMS if claim.name in sys.argv[2:]]\n"
        "    items = status([CATALOGUE['decoder_hif8']], folder, claims)\n"
        "    for ended in update(items, folder, hours=1, limit=60, workers=1):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, script, folder, *(claim.name for claim in HERE)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(states(folder)) == len(HERE) - 1
    ended = updated(folder, *HERE)
    assert len(ended) == len(HERE) - 1
    assert all(end.complaint is None and end.path is not None and end.path.exists() for end in ended)
    return folder


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> Path:
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.slow
def test_after_an_update_every_claim_holds_and_the_unit_is_certified(measured: Path) -> None:
    assert states(measured) == {}
    items = evidence.status([UNIT], measured, HERE)
    assert evidence.certified(items) == [UNIT.name]
    assert (measured / "functions" / f"{UNIT.name}.json").exists()
    for claim in HERE:
        fields = records.read(measured, claim.name, UNIT.name)
        assert fields and {"date", "revision", "fp9", "command"} <= fields["provenance"].keys()


@pytest.mark.slow
def test_another_order_of_operands_leaves_function_claims_valid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fp9_rtl, "circuit_digest", lambda unit: "b" * 64, raising=False)
    assert states(folder) == dict.fromkeys(FORM, ("stale", EARLIER_CIRCUIT))


@pytest.mark.slow
@pytest.mark.skipif(not program(), reason="ABC is not installed")
def test_a_comparison_makes_function_claims_valid_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same circuit with digests of its own stands in for an equivalent one."""
    monkeypatch.setattr(fp9_rtl, "circuit_digest", lambda unit: "b" * 64, raising=False)
    monkeypatch.setattr(fp9_rtl, "canonical_digest", lambda unit: "c" * 64, raising=False)
    assert states(folder).keys() == FUNCTION | FORM
    monkeypatch.setattr(evidence.update.__globals__["executors"], "run", lambda f, tasks, *_, **__: map(f, tasks))
    items = evidence.status([UNIT], folder, HERE)
    ((unit, found),) = evidence.joined(items, folder, limit=60)
    assert unit == UNIT and found and found.proven
    assert states(folder).keys() == FORM
    items = evidence.status([UNIT], folder, HERE)
    assert {item.finding.why for item in items if item.claim.about == "function"} == {"equivalence proof"}


@pytest.mark.slow
def test_another_function_leaves_no_claim_valid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(UNIT, formats=CATALOGUE["decoder_ocp"].formats)  # type: ignore[call-arg, attr-defined]
    form, canonical = fp9_rtl.circuit_digest(wrong), fp9_rtl.canonical_digest(wrong)
    monkeypatch.setattr(fp9_rtl, "circuit_digest", lambda unit: form, raising=False)
    monkeypatch.setattr(fp9_rtl, "canonical_digest", lambda unit: canonical, raising=False)
    monkeypatch.setattr("fp9_sim.netlists.aiger.build", lambda unit: build(wrong))
    from fp9_rtl.components import build

    found = records.join(UNIT, folder, 60)
    assert found is not None and not found.proven
    assert states(folder) == dict.fromkeys(CLAIMS.keys() & (FUNCTION | FORM), ("stale", EARLIER_CIRCUIT))


@pytest.mark.slow
def test_a_score_of_another_suite_is_stale(folder: Path) -> None:
    path = folder / "mutation" / "netlist" / f"{UNIT.name}.json"
    edit(path, lambda record: record["result"]["suites"][0].update(sha256="0" * 64))
    assert states(folder) == {"mutation/netlist": ("stale", EARLIER_SUITE)}


@pytest.mark.slow
def test_a_claim_that_fails_is_named_and_not_measured_again(folder: Path) -> None:
    edit(folder / "sweep" / f"{UNIT.name}.json", lambda record: record["result"]["runs"][0].update(mismatches=3))
    edit(folder / "mutation" / "netlist" / f"{UNIT.name}.json", _survives)
    edit(folder / "proof" / f"{UNIT.name}.json", _unfinished)
    assert states(folder) == {
        "sweep": ("fails", "3 mismatches"),
        "mutation/netlist": ("fails", "2 mutants survive corner"),
        "proof": ("fails", "1 of 1 cases not proven"),
    }
    assert updated(folder, *HERE) == []
    assert evidence.certified(evidence.status([UNIT], folder, HERE)) == []


def _survives(record: dict[str, Any]) -> None:
    suite = next(suite for suite in record["result"]["suites"] if suite["suite"] == "corner")
    suite.update(rate=0.5, survivors=[{}, {}])


def _unfinished(record: dict[str, Any]) -> None:
    record["result"]["claims"][0]["cases"][0]["state"] = "unfinished"
    record["result"]["proven"] = False


@pytest.mark.slow
def test_the_page_states_stale_records_in_their_row(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head, rule, row = page.page(folder, [UNIT]).splitlines()[-3:]
    assert head.count("|") == rule.count("|") == row.count("|")
    assert row.startswith("| decoder_hif8 | 256 | 100 % | values | 100.0 % | 100.0 % |")
    monkeypatch.setattr(fp9_rtl, "circuit_digest", lambda unit: "b" * 64, raising=False)
    row = page.page(folder, [UNIT]).splitlines()[-1]
    assert row.startswith("| decoder_hif8 | 256 | 100 % | values | stale: earlier circuit | - |") and "| no |" in row


# --- costs and order --------------------------------------------------------------------------------------------------


def test_nothing_begins_that_does_not_fit_the_hours(tmp_path: Path) -> None:
    (item,) = evidence.status([UNIT], tmp_path, [CLAIMS["proof"]])
    assert list(evidence.update([replace(item, seconds=7200.0)], tmp_path, hours=1, limit=60, workers=1)) == []


def test_missing_records_come_before_stale_ones_and_cheap_ones_first(tmp_path: Path) -> None:
    (item,) = evidence.status([UNIT], tmp_path, [CLAIMS["proof"]])
    stale = replace(item, finding=evidence.Finding(evidence.State.STALE), seconds=1.0)
    valid = replace(item, finding=evidence.Finding(evidence.State.VALID))
    cheap, dear, unknown = (replace(item, seconds=seconds) for seconds in (2.0, 30.0, None))
    assert ranked([stale, unknown, valid, dear, cheap]) == [cheap, dear, unknown, stale]
    assert evidence.summary([stale, valid, dear]) == ("1 valid, 1 stale, 1 missing; 0.01 hours of one core to measure")


def test_two_updates_do_not_write_into_one_folder(tmp_path: Path) -> None:
    (item,) = evidence.status([UNIT], tmp_path, [CLAIMS["proof"]])
    with evidence.update.__globals__["alone"](tmp_path), pytest.raises(ValueError, match="another update writes there"):
        next(evidence.update([item], tmp_path, hours=1, limit=60, workers=1))


@pytest.mark.slow
def test_a_failure_ends_its_own_record_alone(tmp_path: Path) -> None:
    fails = evidence.Claim("sweep", "", CLAIMS["sweep"].judge, _fails)
    ended = {end.item.claim.name: end for end in updated(tmp_path, fails, CLAIMS["proof"])}
    assert ended["sweep"].complaint == "ValueError: there is no such thing" and ended["sweep"].path is None
    assert ended["proof"].complaint is None


def _fails(unit: object, limit: float) -> None:
    raise ValueError("there is no such thing")


# --- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hours", ["0", "-1", "nan", "inf"])
def test_hours_that_are_none_are_one_sentence(hours: str, tmp_path: Path) -> None:
    words = ["records", "update", "decoder_hif8", "--hours", hours, "--records", str(tmp_path / "new")]
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, done.stderr) == (2, f"fp9: hours {hours} given; give a number of hours above 0\n")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("words", [["status"], ["update"]])
def test_outside_a_checkout_the_commands_say_where_they_looked(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["records", *words])
    expected = f"fp9: no folder {tmp_path / 'records'}; run in a checkout of fp9 or give --records FOLDER\n"
    assert (done.exit_code, done.stderr) == (2, expected)


@pytest.mark.slow
@pytest.mark.parametrize(("about", "claims"), [("function", FUNCTION), ("sweep", {"sweep"})])
def test_the_command_lists_states_and_cost(measured: Path, about: str, claims: set[str]) -> None:
    words = ["records", "status", UNIT.name, "--records", str(measured), "--claims", about, "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert {row["claim"]: row["state"] for row in json.loads(done.stdout)} == dict.fromkeys(claims, "valid")


# --- samples ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_sample_of_a_sound_unit_passes() -> None:
    found = list(evidence.samples(UNIT, 1, 60))
    assert [sample.passed for sample in found] == [True] * 5
    assert found[0].found == "256 operations, 0 mismatches"
    assert found[2].found == "1,024 operations on the reference model, 0 differ"
    assert found[3].found == "1 of 1 cases, values: hif8: proven, its control refuted"
    assert found[4].found.startswith("16 of 16 killed")


@pytest.mark.slow
def test_a_sample_of_a_wrong_unit_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = combinational(UNIT, significand="significand_of[code * 4 +: 4] ^ {3'd0, &code[6:5] & code[1]}")
    monkeypatch.setattr("fp9_rtl.verilog", lambda unit: wrong)
    found = evidence.samples(UNIT, 1, 60)
    assert [next(found).passed, next(found).passed] == [False, False]
    assert next(found).passed, "vectors do not come from the Verilog"
    cases = [case for claim in claims_of(UNIT) for case in claim.cases]
    assert len(cases) == 1 and next(found).passed is False
