"""Update records: check changed circuits for equivalence, then repeat stale measurements.

Sweeps run one after the other, because each sweep uses all workers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9.units import Unit
from fp9_sim.evidence.claim import State
from fp9_sim.evidence.status import Item, Progress, ranked
from fp9_sim.netlists.solvers.same import Comparison
from fp9_sim.provenance import command
from fp9_sim.records import Join, certify, join
from fp9_sim.sweeps import Plan, executors, sweep


@dataclass(frozen=True)
class Ended:
    """Outcome of a measurement: the path of the record, or a sentence that says why no record was written."""

    item: Item
    seconds: float
    path: Path | None
    complaint: str | None

    def to_dict(self) -> dict[str, Any]:
        made = {"record": str(self.path) if self.path else None, "complaint": self.complaint}
        return self.item.to_dict() | made | {"seconds": round(self.seconds, 1)}


@dataclass(frozen=True)
class _Task:
    item: Item
    folder: Path
    limit: float


class _OutOfTime(Exception):
    """The time limit of a sweep has passed. The finished shards of the sweep are stored."""


def joined(
    items: Iterable[Item],
    folder: Path,
    *,
    limit: float,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress = lambda what, done, total: None,
) -> Iterator[tuple[Unit, Comparison | None]]:
    """For each unit with a stale record, check whether the present circuit is equivalent to the certified circuit.

    Yields pairs of a unit and the outcome of its equivalence check, which is None if the unit has no certified circuit.
    `limit` is the time limit of one equivalence check in seconds. Raises ValueError and OSError as `update` does.
    """
    first: dict[Unit, Item] = {}
    for item in items:
        if item.claim.about == "function" and item.finding.state is State.STALE and item.circuit.joined is Join.NONE:
            first.setdefault(item.unit, item)
    with alone(folder):
        tasks = (_Task(item, folder, limit) for item in first.values())
        results = executors.run(_compare, tasks, workers or _cores(), scheduler, ahead=0)
        for done, (unit, found) in enumerate(results, start=1):
            progress(f"{unit.name}: compared", done, len(first))
            yield unit, found


def _compare(task: _Task) -> tuple[Unit, Comparison | None]:
    return task.item.unit, join(task.item.unit, task.folder, task.limit)


def update(
    items: Iterable[Item],
    folder: Path,
    *,
    hours: float,
    limit: float,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress = lambda what, done, total: None,
) -> Iterator[Ended]:
    """Run the measurements whose records are missing or stale, and yield the outcome of each measurement.

    Sweeps start after all other measurements. Both groups start with the missing records, and continue with the stale
    records. `hours` is the time limit of the update. A sweep starts if the time limit of the update has not passed. A
    measurement that is not a sweep starts only if its estimated time fits into the remaining time of the update. A
    measurement without an estimated time also starts if the time limit has not passed. `limit` is the time limit for
    one case of a proof, in seconds. The measurements run in `workers` local processes (default: one for each core), or
    on the Dask cluster at the address `scheduler`. Raises ValueError if another update uses the folder, if the Dask
    scheduler does not answer, or if a worker process was killed. Raises OSError if the folder cannot be written.
    """
    deadline, pending = time.monotonic() + hours * 3600, ranked(items)
    apart = [item for item in pending if item.claim.make]
    count = workers or _cores()
    with alone(folder):
        tasks = (_Task(item, folder, limit) for item in apart if _fits(item, deadline))
        ended = 0
        for item, made, complaint, seconds in executors.run(_make, tasks, count, scheduler, ahead=0):
            ended += 1
            progress(f"{item.unit.name}: {item.claim.name}", ended, len(pending))
            yield _kept(item, made, complaint, seconds, folder)
        for item in pending:
            if item.claim.make is None and time.monotonic() < deadline:
                ended += 1
                yield _swept(item, folder, deadline, count, scheduler, progress)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _fits(item: Item, deadline: float) -> bool:
    left = deadline - time.monotonic()
    return left > 0 and (item.seconds is None or item.seconds <= left)


def _make(task: _Task) -> tuple[Item, Any, str | None, float]:
    # An exception is returned as a sentence, so that the update continues.
    started = time.monotonic()
    make = task.item.claim.make
    assert make is not None
    try:
        made, complaint = make(task.item.unit, task.limit), None
    except Exception as error:
        made, complaint = None, f"{type(error).__name__}: {error}"
    return task.item, made, complaint, time.monotonic() - started


def _kept(item: Item, made: Any, complaint: str | None, seconds: float, folder: Path) -> Ended:
    if complaint is not None:
        return Ended(item, seconds, None, complaint)
    assert item.claim.keep is not None
    signed = dataclasses.replace(made, provenance={**made.provenance, "command": command()})
    path = item.claim.keep(signed, folder)
    _certified(item, folder)
    return Ended(item, seconds, path, None)


def _certified(item: Item, folder: Path) -> None:
    # A circuit that already belongs to an equivalence class is not certified again.
    if item.claim.about == "function":
        certify(item.unit, folder)


def _swept(item: Item, folder: Path, deadline: float, workers: int, scheduler: str | None, progress: Progress) -> Ended:
    def step(what: str, done: int, total: int) -> None:
        progress(what, done, total)
        if time.monotonic() > deadline and done < total:
            raise _OutOfTime

    started, path, complaint = time.monotonic(), None, None
    try:
        path = sweep(Plan(item.unit), folder=folder, workers=workers, scheduler=scheduler, progress=step).path
        _certified(item, folder)
    except _OutOfTime:
        complaint = "not finished within the hours; finished shards are stored, and the next run continues"
    return Ended(item, time.monotonic() - started, path, complaint)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock a folder of records, so that only one update at a time writes into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ValueError(f"{folder} is in use: another update writes there; wait for it") from None
    finally:
        os.close(file)
