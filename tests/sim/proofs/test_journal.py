"""A proof that was stopped goes on: nothing is lost, decided twice or taken from a line that is damaged."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fp9.system import cache
from fp9.units import CATALOGUE
from fp9_sim.netlists.solvers.solver import Obligation, State, Verdict
from fp9_sim.proofs import ProofRecord, prove
from fp9_sim.proofs.journal import Journal, Part

UNIT = CATALOGUE["decoder_ocp"]
PART = Part("values", "e4m3", False)


def whole(record: ProofRecord) -> dict[str, Any]:
    """A record without what differs from run to run."""
    fields = record.to_dict() | {"provenance": None, "complaints": None}
    found: dict[str, Any] = json.loads(json.dumps(fields), object_hook=lambda found: {**found, "seconds": None})
    return found


def kept() -> Path:
    (path,) = cache.folder("proofs").iterdir()
    return path


def keys_of(lines: bytes) -> list[str]:
    return [json.loads(line)["key"] for line in lines.splitlines()]


def keys(path: Path) -> list[str]:
    return keys_of(path.read_bytes())


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[ProofRecord, bytes]:
    """The record of a proof that nothing disturbed, and its journal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.PLACE, str(tmp_path_factory.mktemp("cache")))
        return prove(UNIT, timeout=60), kept().read_bytes()


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.PLACE, str(tmp_path))


@pytest.mark.slow
def test_a_proof_killed_on_its_way_goes_on_and_makes_the_same_record(
    uninterrupted: tuple[ProofRecord, bytes],
) -> None:
    program = (
        "import os, signal\n"
        "from fp9.units import CATALOGUE\n"
        "from fp9_sim.proofs import prove\n"
        "die = lambda *case: os.kill(os.getpid(), signal.SIGKILL)\n"
        "prove(CATALOGUE['decoder_ocp'], timeout=60, jobs=1, progress=die)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], check=False)
    assert killed.returncode == -signal.SIGKILL
    before = keys(kept())
    assert 0 < len(before) < len(uninterrupted[1].splitlines())
    with kept().open("ab") as file:
        file.write(uninterrupted[1].splitlines()[-1][:50])
    record = prove(UNIT, timeout=60)
    assert whole(record) == whole(uninterrupted[0])
    assert not record.complaints
    after = keys(kept())
    assert after[: len(before)] == before
    assert sorted(after) == sorted(keys_of(uninterrupted[1]))


@pytest.mark.slow
def test_what_is_kept_is_not_decided_again_except_on_demand(uninterrupted: tuple[ProofRecord, bytes]) -> None:
    record = prove(UNIT, timeout=60)
    lines = kept().read_bytes()
    assert prove(UNIT, timeout=60).claims == record.claims
    assert kept().read_bytes() == lines
    with cache.recomputing():
        prove(UNIT, timeout=60)
    assert sorted(keys(kept())) == sorted(2 * keys_of(lines))


@pytest.mark.parametrize("place", [0.1, 0.4, 0.7, 0.99])
def test_a_line_with_a_flipped_bit_is_named_and_does_not_count(
    place: float, uninterrupted: tuple[ProofRecord, bytes], tmp_path: Path
) -> None:
    path, lines = tmp_path / "journal", bytearray(uninterrupted[1])
    path.write_bytes(lines)
    right = Journal(path)
    assert not right.complaints
    where = int(place * len(lines))
    lines[where] ^= 1 << where % 8
    path.write_bytes(lines)
    damaged = Journal(path)
    number = 1 + uninterrupted[1][:where].count(b"\n")
    assert damaged.complaints == [f"{path}, line {number}: damaged; it does not count"]
    assert {*damaged.kept} == {*right.kept} - {keys_of(uninterrupted[1])[number - 1]}


def test_a_damaged_line_is_named_in_the_record_and_its_verdict_found_again(
    uninterrupted: tuple[ProofRecord, bytes],
) -> None:
    prove(UNIT, timeout=60)
    path = kept()
    path.write_text(path.read_text().replace(State.PROVEN.value, State.REFUTED.value, 1))
    number = 1 + path.read_text().split(State.REFUTED.value)[0].count("\n")
    record = prove(UNIT, timeout=60)
    assert f"{path}, line {number}: damaged; it does not count" in record.complaints
    assert whole(record) == whole(uninterrupted[0])


@dataclasses.dataclass(frozen=True)
class Slow(Obligation):
    """Holds, which takes ten seconds to find."""

    def decide(self, timeout: float) -> Verdict:
        return Verdict(State.PROVEN, 10.0) if timeout >= 10 else Verdict(State.UNFINISHED, timeout)


def test_what_a_short_limit_left_open_is_tried_again_under_a_longer_one_and_all_times_count(tmp_path: Path) -> None:
    asked = Slow("", {})

    def ended(limit: float) -> tuple[str, float]:
        verdict = Journal(tmp_path / "journal").decide(asked, PART, limit)
        return verdict.state.value, verdict.seconds

    assert [ended(limit) for limit in (2, 1, 2)] == [("not finished", 2.0)] * 3
    assert [ended(limit) for limit in (20, 1)] == [("proven", 12.0)] * 2


def test_another_question_or_another_tool_is_another_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Journal(tmp_path / "journal")
    asked = [Slow("", {}), Slow("sat", {}), Slow("", {"unit.v": ""})]
    for obligation in asked:
        found.decide(obligation, PART, 20)
    assert len(found.kept) == len(asked)
    monkeypatch.setattr(Slow, "tools", lambda self: {"yosys": "another"})
    found.decide(asked[0], PART, 20)
    assert len(found.kept) == len(asked) + 1


def test_a_journal_that_cannot_be_written_is_a_complaint_and_no_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = Journal(tmp_path / "file" / "folder" / "journal")
    assert found.decide(Slow("", {}), PART, 20).state is State.PROVEN
    assert found.complaints == [f"{found.path}: verdicts are not stored: Not a directory"]
