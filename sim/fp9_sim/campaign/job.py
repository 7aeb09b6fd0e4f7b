"""Making what is owed, within a limit of hours: records appear whole, one by one, and a kill costs what was under way.

Texts, proofs and grades run side by side in processes of this machine or on a Dask cluster; sweeps come after them, as
each keeps all workers busy by itself. What is begun is ended: nothing is begun that is known not to fit. A sweep that
does not end in time keeps its shards, and goes on from there the next time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9_sim.campaign.debts import Debt
from fp9_sim.provenance import command
from fp9_sim.sweeps import Plan, executors, sweep

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Job:
    """A debt as a worker gets it, with the limit of seconds for a case."""

    debt: Debt
    limit: float


@dataclass(frozen=True)
class Ended:
    """How the making of a record ended: its place, or in a sentence why there is none."""

    debt: Debt
    seconds: float
    path: Path | None
    said: str | None

    def to_dict(self) -> dict[str, Any]:
        made = {"seconds": round(self.seconds, 1), "record": str(self.path) if self.path else None, "said": self.said}
        return self.debt.to_dict() | made


class _OutOfTime(Exception):
    """The hours are over; what is under way keeps what it has."""


def campaign(
    debts: Iterable[Debt],
    folder: Path,
    *,
    hours: float,
    limit: float,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Ended]:
    """Make the records of debts in their order, and give each as it ends.

    `folder` holds the folders of all kinds of records; `limit` is that of a case of a proof and of the comparison of a
    text, in seconds. The work is done by `workers` processes (one for each core), or
    by the workers of the Dask scheduler at `scheduler`. Raises ValueError where another campaign writes into the same
    folder, the scheduler does not answer or a worker was killed, OSError where the folder cannot be written.
    """
    deadline, tell = time.monotonic() + hours * 3600, progress or (lambda what, done, total: None)
    payable = [debt for debt in debts if debt.payable]
    apart = [debt for debt in payable if debt.claim.make]
    count = workers or len(os.sched_getaffinity(0))
    with _alone(folder):
        jobs = (Job(debt, limit) for debt in apart if _fits(debt, deadline))
        ended = 0
        for job, made, said, seconds in executors.run(_make, jobs, count, scheduler, ahead=0):
            ended += 1
            tell(f"{job.debt.unit.name}: {job.debt.claim.name}", ended, len(payable))
            yield _kept(job.debt, made, said, seconds, folder)
        for debt in payable:
            if debt.claim.make is None and time.monotonic() < deadline:
                ended += 1
                yield _swept(debt, folder, deadline, count, scheduler, tell)


def _fits(debt: Debt, deadline: float) -> bool:
    left = deadline - time.monotonic()
    return left > 0 and (debt.seconds is None or debt.seconds <= left)


def _make(job: Job) -> tuple[Job, Any, str | None, float]:
    """In a worker: the result, or what went wrong, which must not end the campaign."""
    started = time.monotonic()
    assert job.debt.claim.make is not None
    try:
        made, said = job.debt.claim.make(job.debt.unit, job.limit), None
    except Exception as error:
        made, said = None, f"{type(error).__name__}: {error}"
    return job, made, said, time.monotonic() - started


def _kept(debt: Debt, made: Any, said: str | None, seconds: float, folder: Path) -> Ended:
    if said is not None:
        return Ended(debt, seconds, None, said)
    assert debt.claim.keep is not None
    signed = dataclasses.replace(made, provenance={**made.provenance, "command": command()})
    return Ended(debt, seconds, debt.claim.keep(signed, folder / debt.claim.folder), None)


def _swept(debt: Debt, folder: Path, deadline: float, workers: int, scheduler: str | None, progress: Progress) -> Ended:
    def step(what: str, done: int, total: int) -> None:
        progress(what, done, total)
        if time.monotonic() > deadline and done < total:
            raise _OutOfTime

    started, path, said = time.monotonic(), None, None
    to = folder / debt.claim.folder
    try:
        path = sweep(Plan(debt.unit), folder=to, workers=workers, scheduler=scheduler, progress=step).path
    except _OutOfTime:
        said = "not ended in these hours; its shards are kept, and it goes on from there"
    return Ended(debt, time.monotonic() - started, path, said)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One campaign at a time writes into a folder of records."""
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ValueError(f"{folder} is in use: another campaign writes there; wait for it") from None
    finally:
        os.close(file)
