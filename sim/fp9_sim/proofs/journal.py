"""The journal of proofs: a file with one line of JSON for each verdict of a solver.

The key of a verdict is a digest of the solver's exact input and the tool versions.
"""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9.system import cache
from fp9.units import Unit
from fp9_sim.netlists.solvers.solver import Obligation, State, Verdict


@dataclass(frozen=True)
class Part:
    claim: str
    case: str
    control: bool


@dataclass(frozen=True)
class Kept:
    """A verdict in the journal.

    `verdict.seconds` is the total time of all attempts in seconds. `limit` is the longest time limit in seconds.
    """

    part: Part
    verdict: Verdict
    limit: float

    def settles(self, limit: float) -> bool:
        """Return whether the solver decided the case, or timed out with a limit of at least `limit` seconds."""
        return self.verdict.state is not State.UNFINISHED or self.limit >= limit


class Journal:
    """The stored verdicts about one Verilog text.

    Several processes and threads may write to a journal at the same time. Within `cache.recomputing`, the journal is
    not read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.complaints: list[str] = []
        self.tools: dict[str, str] = {}
        self.kept: dict[str, Kept] = {}
        self._writing = threading.Lock()
        if not cache.is_anew():
            self._read()

    def decide(self, obligation: Obligation, part: Part, limit: float) -> Verdict:
        """Return the stored verdict on a proof obligation, or decide the obligation within `limit` seconds."""
        key = _key(obligation)
        self.tools |= obligation.tools()
        kept = self.kept.get(key)
        if kept is None or not kept.settles(limit):
            verdict = obligation.decide(limit)
            verdict = dataclasses.replace(verdict, seconds=round(verdict.seconds, 3))
            with self._writing:
                self._write({"key": key, "limit": limit, **dataclasses.asdict(part), **_words(verdict)})
                kept = self._add(key, Kept(part, verdict, limit))
        return kept.verdict

    def _add(self, key: str, new: Kept) -> Kept:
        before = self.kept.get(key)
        if before is not None:
            seconds = before.verdict.seconds + new.verdict.seconds
            known = before.verdict if new.verdict.state is State.UNFINISHED else new.verdict
            verdict = dataclasses.replace(known, seconds=seconds)
            new = Kept(new.part, verdict, max(before.limit, new.limit))
        self.kept[key] = new
        return new

    def _read(self) -> None:
        try:
            data = self.path.read_bytes()
        except OSError:
            return
        for number, line in enumerate(data.split(b"\n")[:-1], start=1):
            try:
                self._add(*_understood(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                self.complaints.append(f"{self.path}, line {number}: damaged; it does not count")

    def _write(self, fields: dict[str, Any]) -> None:
        line = json.dumps({"sha256": _digest(fields), **fields}).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                _cut_off(file.fileno())
                if os.write(file.fileno(), line) != len(line):
                    raise OSError(28, "No space left on device")
                os.fsync(file.fileno())
        except OSError as error:
            complaint = f"{self.path}: verdicts are not stored: {error.strerror}"
            if complaint not in self.complaints:
                self.complaints.append(complaint)


def journal(unit: Unit, verilog: str) -> Journal:
    digest = hashlib.sha256(verilog.encode()).hexdigest()
    return Journal(cache.folder("proofs") / f"{unit.name}-{digest[:16]}.jsonl")


def _key(obligation: Obligation) -> str:
    return _digest(dataclasses.asdict(obligation) | {"tools": obligation.tools()})


def _digest(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _words(verdict: Verdict) -> dict[str, Any]:
    return dataclasses.asdict(verdict) | {"state": verdict.state.value}


def _understood(line: bytes) -> tuple[str, Kept]:
    fields = json.loads(line)
    if fields.pop("sha256") != _digest(fields):
        raise ValueError
    verdict = Verdict(State(fields["state"]), fields["seconds"], fields["counterexample"])
    return fields["key"], Kept(Part(fields["claim"], fields["case"], fields["control"]), verdict, fields["limit"])


def _cut_off(file: int) -> None:
    """Remove an incomplete last line, left by a killed process, from a journal file."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.ftruncate(file, os.pread(file, size, 0).rfind(b"\n") + 1)
