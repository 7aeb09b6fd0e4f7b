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
    """A verdict of a solver, as stored in the journal of proofs."""

    part: Part
    # `verdict.seconds` is the sum over all attempts. `limit` is the longest time limit of an attempt, in seconds.
    verdict: Verdict
    limit: float

    def settles(self, limit: float) -> bool:
        """Return whether a new proof attempt with a time limit of `limit` seconds is unnecessary."""
        return self.verdict.state is not State.UNFINISHED or self.limit >= limit


class Journal:
    """The stored verdicts about one Verilog text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.complaints: list[str] = []
        self.tools: dict[str, str] = {}
        self.kept: dict[str, Kept] = {}
        # Several processes and threads may write to a journal at the same time.
        self._writing = threading.Lock()
        if not cache.is_forced():
            self._read()

    def decide(self, obligation: Obligation, part: Part, limit: float) -> Verdict:
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
    # A killed process leaves an incomplete last line in the journal.
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.ftruncate(file, os.pread(file, size, 0).rfind(b"\n") + 1)
