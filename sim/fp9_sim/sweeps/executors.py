"""Where shards are run: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from fp9.system.missing import install_hint
from fp9_sim.sweeps.shard import ShardResult, Task, run_shard

IN_FLIGHT = 256
"""Shards at most that a scheduler holds: each comes with the unit's Verilog."""

CONNECT_SECONDS = 20.0
"""How long a scheduler may take to answer."""


def run(tasks: Iterable[Task], workers: int, scheduler: str | None) -> Iterator[ShardResult]:
    """Results of all tasks in the order in which they end, each once.

    `scheduler` is the address of a Dask scheduler, whose workers have this package; without it `workers` processes of
    this machine do the work. Raises ValueError for a scheduler that does not answer and for workers that die.
    """
    return on_dask(tasks, scheduler) if scheduler else on_processes(tasks, workers)


def on_processes(tasks: Iterable[Task], count: int) -> Iterator[ShardResult]:
    """Results from processes of this machine."""
    with processes(count) as pool:
        futures = [pool.submit(run_shard, task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool:
            raise ValueError("a worker process was killed; run the same command again, and it goes on") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def processes(count: int) -> ProcessPoolExecutor:
    """So many processes of this machine, which end at Ctrl-C where this one heeds it."""
    # Forking a process whose threads are at work is not safe; a fresh one compiles nothing anew.
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_stop_at_once)


def _stop_at_once() -> None:
    """End a worker at Ctrl-C without a word: what it was at is run again, and the parent says so.

    A parent that ignores Ctrl-C, as a shell's jobs in the background do, has workers that ignore it.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def on_dask(tasks: Iterable[Task], address: str) -> Iterator[ShardResult]:
    """Results from the workers of a Dask scheduler; a shard whose worker dies is run by another one."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ModuleNotFoundError:
        raise ValueError(f"a scheduler needs dask.distributed; run: {install_hint('cluster')}") from None
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TypeError):
        raise ValueError(
            f"no Dask scheduler answers at {address}; start one with `dask scheduler` and give its address"
        ) from None
    waiting = iter(tasks)
    with client:
        ended = distributed.as_completed(_submit(client, task) for task in itertools.islice(waiting, IN_FLIGHT))
        for future in ended:
            yield future.result()
            future.release()
            for task in itertools.islice(waiting, 1):
                ended.add(_submit(client, task))


def _submit(client: Any, task: Task) -> Any:
    return client.submit(run_shard, task, pure=False, retries=2)
