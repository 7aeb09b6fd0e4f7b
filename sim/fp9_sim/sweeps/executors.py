"""Where tasks are run: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from fp9.system.missing import install_hint

AHEAD = 64
"""Tasks that wait beside those that run, so that no worker does; each comes with the unit's Verilog."""

CONNECT_SECONDS = 20.0
"""How long a scheduler may take to answer."""


T = TypeVar("T")
R = TypeVar("R")


def run(
    function: Callable[[T], R], tasks: Iterable[T], workers: int, scheduler: str | None, ahead: int = AHEAD
) -> Iterator[R]:
    """What a function gives for each task, in the order in which they end.

    `scheduler` is the address of a Dask scheduler, whose workers have this package; without it `workers` processes of
    this machine do the work. A task is asked for when a worker can have it, or up to `ahead` tasks before. Raises
    ValueError for a scheduler that does not answer and for workers that die.
    """
    if scheduler:
        return on_dask(function, tasks, scheduler, ahead)
    return on_processes(function, tasks, workers, ahead)


def on_processes(function: Callable[[T], R], tasks: Iterable[T], count: int, ahead: int) -> Iterator[R]:
    """Results from processes of this machine."""
    waiting = iter(tasks)
    with processes(count) as pool:
        try:
            running = {pool.submit(function, task) for task in itertools.islice(waiting, count + ahead)}
            while running:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    running |= {pool.submit(function, task) for task in itertools.islice(waiting, 1)}
                    yield future.result()
        except BrokenProcessPool:
            raise ValueError("a worker process was killed; run the same command again, and it goes on") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def processes(count: int) -> ProcessPoolExecutor:
    """So many processes of this machine, which end at Ctrl-C where this one heeds it."""
    # Forking a process whose threads are at work is not safe; a fresh one compiles nothing again.
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_stop_at_once)


def _stop_at_once() -> None:
    """End a worker at Ctrl-C without a word: what it was at is run again, and the parent says so. End it with its
    parent, too, however that was killed: nobody waits for what it is at.

    A parent that ignores Ctrl-C, as a shell's jobs in the background do, has workers that ignore it.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def on_dask(function: Callable[[T], R], tasks: Iterable[T], address: str, ahead: int) -> Iterator[R]:
    """Results from the workers of a Dask scheduler; a task whose worker dies is run by another one."""
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

    def submit(task: T) -> Any:
        return client.submit(function, task, pure=False, retries=2)

    with client:
        room = max(1, sum(client.nthreads().values())) + ahead
        ended = distributed.as_completed(submit(task) for task in itertools.islice(waiting, room))
        for future in ended:
            yield future.result()
            future.release()
            for task in itertools.islice(waiting, 1):
                ended.add(submit(task))
