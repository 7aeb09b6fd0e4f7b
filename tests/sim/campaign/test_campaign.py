"""What is owed follows from the records alone, and a campaign pays it, whatever is killed meanwhile."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.sim.support.standins import combinational

from fp9.cli import main
from fp9.units import CATALOGUE
from fp9_rtl.synthesis.libraries import LIBRARIES, SIDE_BY_SIDE
from fp9_sim import campaign as library
from fp9_sim import recounts
from fp9_sim.cli.campaign import _CLAIMS
from fp9_sim.netlists.solvers.abc import program
from fp9_sim.proofs.claims import claims_of
from fp9_sim.records import EARLIER_CIRCUIT, EARLIER_SUITE, FUNCTIONAL, HOME, NO_RECORD, SWEEPS, path_of

ROOT = Path(__file__).parents[3]
UNIT = CATALOGUE["decoder_hif8"]
CLAIMS = {claim.name: claim for claim in library.CLAIMS}
_LACKING = {
    "text": program() is None,
    "mapped": not LIBRARIES["osu018"].file.path().is_file(),
    "area": not all(LIBRARIES[name].file.path().is_file() for name in SIDE_BY_SIDE),
}
OF_PAGES = ("energy", "study", "peers")
"""Claims whose record is that of a page, of several units."""

HERE = [claim for claim in library.CLAIMS if claim.name not in OF_PAGES and not _LACKING.get(claim.name)]
"""Those of one unit's record that this machine can decide: texts need ABC, mapped netlists and areas the libraries."""


def reasons(folder: Path) -> dict[str, tuple[str, bool]]:
    """What the unit owes, by claim."""
    return {debt.claim.name: (debt.why, debt.payable) for debt in library.owed([UNIT], folder, HERE)}


def edit(path: Path, **fields: Any) -> None:
    """Fields of a record, or of each run of a list of them, changed."""
    record = json.loads(path.read_text())
    for part in record if isinstance(record, list) else [record]:
        part.update(fields)
    path.write_text(json.dumps(record))


def test_the_command_names_every_claim() -> None:
    assert tuple(CLAIMS) == _CLAIMS


def test_a_part_of_a_sweep_says_what_the_whole_takes(tmp_path: Path) -> None:
    unit = CATALOGUE["cast_fp32_hfp8"]
    (run,) = json.loads(path_of(ROOT / HOME / SWEEPS, unit.name).read_text())
    part = run | {"first": 0, "stop": run["shards"] // 4, "count": run["count"] // 4, "seconds": 10.0}
    (tmp_path / SWEEPS).mkdir()
    path_of(tmp_path / SWEEPS, unit.name).write_text(json.dumps([part]))
    assert CLAIMS["sweep"].seconds(unit, tmp_path) == 40


@pytest.mark.parametrize("hours", ["0", "-1", "nan", "inf"])
def test_hours_that_are_none_are_one_sentence(hours: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["campaign", "decoder_hif8", "--hours", hours, "--records", str(tmp_path / "new")])
    assert (done.exit_code, done.stderr) == (2, f"fp9: hours {hours} given; give a number of hours above 0\n")
    assert not (tmp_path / "new").exists()


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of a campaign that was killed when the first of them was made, and of the one after it."""
    folder = tmp_path_factory.mktemp("records")
    assert reasons(folder) == {claim.name: (NO_RECORD, True) for claim in HERE}
    program = folder / "program.py"
    program.write_text(
        "import os, pathlib, signal, sys\n"
        "from fp9.units import CATALOGUE\n"
        "from fp9_sim.campaign import CLAIMS, campaign, owed\n"
        "if __name__ == '__main__':\n"
        "    folder = pathlib.Path(sys.argv[1])\n"
        "    claims = [claim for claim in CLAIMS if claim.name in sys.argv[2:]]\n"
        "    debts = owed([CATALOGUE['decoder_hif8']], folder, claims)\n"
        "    for ended in campaign(debts, folder, hours=1, limit=60, workers=1):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, program, folder, *(claim.name for claim in HERE)], check=False)
    assert killed.returncode == -signal.SIGKILL
    left = library.owed([UNIT], folder, HERE)
    assert len(left) == len(HERE) - 1
    ended = list(library.campaign(left, folder, hours=1, limit=60, workers=1))
    assert [end.debt.claim.name for end in ended] == [debt.claim.name for debt in left]
    assert all(end.said is None and end.path is not None and end.path.exists() for end in ended)
    return folder


@pytest.mark.slow
def test_after_it_nothing_is_owed_and_each_record_is_signed(paid: Path) -> None:
    assert reasons(paid) == {}
    for claim in HERE:
        record = json.loads(path_of(paid / claim.folder, UNIT.name).read_text())
        signed = record[0] if isinstance(record, list) else record | record["provenance"]
        assert {"date", "revision", "fp9", "yosys", "command"} <= signed.keys()
        assert "circuit_sha256" in signed or claim not in OF_CIRCUITS
        assert claim.seconds(UNIT, paid) is not None


OF_SUITES = ("grade", "last", "mapped", "constants", "recount", "functional")
"""Claims about vectors; of a circuit, too, are the grades."""

OF_CIRCUITS = [claim for claim in HERE if claim.name not in ("recount", "functional")]
"""Those that are claims about a circuit: neither results counted again nor situations that are met are."""


@pytest.mark.slow
@pytest.mark.parametrize("claim", OF_CIRCUITS, ids=lambda claim: claim.name)
def test_a_record_of_another_circuit_pays_nothing(claim: library.Claim, paid: Path, tmp_path: Path) -> None:
    shutil.copytree(paid, tmp_path, dirs_exist_ok=True)
    edit(path_of(tmp_path / claim.folder, UNIT.name), circuit_sha256="0" * 64)
    assert reasons(tmp_path) == {claim.name: (EARLIER_CIRCUIT, True)}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_SUITES)
def test_what_is_of_another_suite_is_to_be_made_again(name: str, paid: Path, tmp_path: Path) -> None:
    shutil.copytree(paid, tmp_path, dirs_exist_ok=True)
    path = path_of(tmp_path / CLAIMS[name].folder, UNIT.name)
    suites = json.loads(path.read_text())["suites"]
    edit(path, suites=[suite | {"sha256": "0" * 64} for suite in suites])
    assert reasons(tmp_path) == {name: (EARLIER_SUITE, True)}


@pytest.mark.slow
def test_what_was_asked_for_other_situations_is_to_be_measured_again(paid: Path, tmp_path: Path) -> None:
    shutil.copytree(paid, tmp_path, dirs_exist_ok=True)
    edit(path_of(tmp_path / FUNCTIONAL, UNIT.name), situations_sha256="0" * 64)
    assert reasons(tmp_path) == {"functional": ("earlier situations", True)}


def test_a_result_that_fractions_do_not_confirm_is_kept_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder whose golden model is given a fault: fractions see it, with the operation."""
    from fp9.vectors import sets as vectors

    made = vectors.generate(UNIT, "smoke")
    sign = made.expected["sign"] ^ (made.inputs["code"] == 3)
    wrong = dataclasses.replace(made, expected=dict(made.expected) | {"sign": sign})
    monkeypatch.setattr(vectors, "generate", lambda unit, suite: wrong)
    suite = recounts.recount(UNIT).suites[0]
    assert suite.different == 1
    (shown,) = suite.shown
    assert (shown["inputs"]["code"], shown["golden"]["sign"], shown["again"]["sign"]) == (3, 1, 0)


@pytest.mark.slow
def test_what_does_not_hold_is_named_and_left(paid: Path, tmp_path: Path) -> None:
    shutil.copytree(paid, tmp_path, dirs_exist_ok=True)
    edit(path_of(tmp_path / CLAIMS["sweep"].folder, UNIT.name), mismatches=3)
    path = path_of(tmp_path / CLAIMS["grade"].folder, UNIT.name)
    suites = json.loads(path.read_text())["suites"]
    edit(path, suites=[suite | {"rate": 0.5, "survivors": [{}, {}]} for suite in suites])
    path = path_of(tmp_path / CLAIMS["proof"].folder, UNIT.name)
    (claim, *others) = json.loads(path.read_text())["claims"]
    claim["cases"][0]["state"] = "unfinished"
    edit(path, claims=[claim, *others], proven=False)
    path = path_of(tmp_path / FUNCTIONAL, UNIT.name)
    smoke, corner = json.loads(path.read_text())["suites"]
    corner["items"][0]["met"] -= 2
    edit(path, suites=[smoke, corner])
    found = reasons(tmp_path)
    assert found["functional"] == ("corner misses 2", False)
    assert found["sweep"] == ("3 mismatches", False)
    assert found["grade"] == ("smoke misses 2, corner misses 2", False)
    assert found["proof"][0].startswith("1 of ") and not found["proof"][1]
    assert list(library.campaign(library.owed([UNIT], tmp_path, HERE), tmp_path, hours=1, limit=60)) == []


def test_nothing_is_begun_that_does_not_fit_the_hours(tmp_path: Path) -> None:
    (debt,) = library.owed([UNIT], tmp_path, [CLAIMS["proof"]])
    slow = library.Debt(debt.unit, debt.claim, debt.why, True, 7200.0)
    assert list(library.campaign([slow], tmp_path, hours=1, limit=60, workers=1)) == []


def test_a_claim_of_which_no_unit_of_a_kind_has_a_record_takes_as_much_longer_as_of_other_units(tmp_path: Path) -> None:
    """Here ten times as long as another claim, of which the unit has a record; without one, as long as the median."""
    quick = {"decoder_hif8": 2.0, "decoder_ocp": 3.0, "upcast_fp32": 7.0}
    slow = {"decoder_hif8": 20.0, "decoder_ocp": 30.0}
    lacks = CLAIMS["text"].lacks
    claims = [
        library.Claim(name, "", name, lacks, lambda unit, folder, took=took: took.get(unit.name))
        for name, took in (("quick", quick), ("slow", slow))
    ]
    units = [CATALOGUE[name] for name in ("decoder_hif8", "decoder_ocp", "upcast_fp32", "cast_fp32_hfp8")]
    debts = {(debt.unit.name, debt.claim.name): debt.seconds for debt in library.owed(units, tmp_path, claims)}
    assert debts["upcast_fp32", "slow"] == 70
    assert debts["cast_fp32_hfp8", "slow"] == 25
    assert debts["decoder_ocp", "slow"] == 30


@pytest.mark.slow
def test_a_failure_ends_its_own_record_alone(tmp_path: Path) -> None:
    fails = library.Claim("fails", "", "fails", CLAIMS["proof"].lacks, CLAIMS["proof"].seconds, _fails, None)
    debts = library.owed([UNIT], tmp_path, [fails, CLAIMS["proof"]])
    ended = {end.debt.claim.name: end for end in library.campaign(debts, tmp_path, hours=1, limit=60, workers=1)}
    assert ended["fails"].said == "ValueError: there is no such thing" and ended["fails"].path is None
    assert ended["proof"].said is None


def _fails(unit: object, limit: float) -> None:
    raise ValueError("there is no such thing")


@pytest.mark.slow
def test_two_campaigns_do_not_write_into_one_folder(tmp_path: Path) -> None:
    debts = library.owed([UNIT], tmp_path, [CLAIMS["proof"]])
    first = library.campaign(debts, tmp_path, hours=1, limit=60, workers=1)
    next(first)
    with pytest.raises(ValueError, match="another campaign writes there"):
        next(library.campaign(debts, tmp_path, hours=1, limit=60, workers=1))
    first.close()


@pytest.mark.slow
def test_a_killed_dask_worker_costs_no_record(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    units = [CATALOGUE[name] for name in ("decoder_hif8", "decoder_ocp", "upcast_fp32")]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, worker_dashboard_address=None
    ) as cluster:
        victim, debts = cluster.workers[0], library.owed(units, tmp_path, [CLAIMS["proof"]])
        victim.auto_restart = False  # what is left has to do
        ended = []
        for end in library.campaign(debts, tmp_path, hours=1, limit=60, scheduler=cluster.scheduler_address):
            if not ended:
                os.kill(victim.pid, signal.SIGKILL)
            ended.append(end.debt.unit)
    assert sorted(unit.name for unit in ended) == sorted(unit.name for unit in units)
    assert library.owed(units, tmp_path, [CLAIMS["proof"]]) == []


# --- samples ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_sample_of_a_sound_unit_passes() -> None:
    found = list(library.samples(UNIT, 1, 60))
    assert [sample.passed for sample in found] == [True] * 5
    assert found[0].found == "256 operations, 0 mismatches"
    assert found[2].found == "1,024 operations in exact fractions, 0 differ"
    assert found[3].found == "1 of 1 cases, values: hif8: proven, its control refuted"
    assert found[4].found.startswith("16 of 16 noticed")


@pytest.mark.slow
def test_a_sample_of_a_wrong_unit_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = combinational(UNIT, significand="significand_of[code * 4 +: 4] ^ {3'd0, &code[6:5] & code[1]}")
    monkeypatch.setattr("fp9_rtl.verilog", lambda unit: wrong)
    drawn = library.samples(UNIT, 1, 60)
    assert [next(drawn).passed, next(drawn).passed] == [False, False]
    assert next(drawn).passed, "vectors do not come from the Verilog"
    cases = [case for claim in claims_of(UNIT) for case in claim.cases]
    assert len(cases) == 1 and next(drawn).passed is False
