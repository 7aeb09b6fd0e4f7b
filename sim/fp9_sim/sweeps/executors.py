"""Run tasks in parallel, in processes of the local machine or on a Dask cluster."""

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

CONNECT_SECONDS = 20.0


T = TypeVar("T")
R = TypeVar("R")


def run(
    function: Callable[[T], R], tasks: Iterable[T], workers: int, scheduler: str | None, ahead: int = AHEAD
) -> Iterator[R]:
    """Call a function with each task in parallel, and yield the results in the order of completion.

    The tasks run on the Dask scheduler at the address `scheduler`, or in `workers` local processes. At most `ahead`
    tasks wait in the queue while all workers are busy. Raises ValueError if the scheduler does not answer or a worker
    process is killed.
    """
    if scheduler:
        return on_dask(function, tasks, scheduler, ahead)
    return on_processes(function, tasks, workers, ahead)


def on_processes(function: Callable[[T], R], tasks: Iterable[T], count: int, ahead: int) -> Iterator[R]:
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
    # Forking a process with running threads is not safe. A spawned process finds the compiled unit in the cache.
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_stop_at_once)


def _stop_at_once() -> None:
    """Make a worker process exit without a traceback at Ctrl-C, and also when the parent process exits."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def on_dask(function: Callable[[T], R], tasks: Iterable[T], address: str, ahead: int) -> Iterator[R]:
    """Call a function with each task on a Dask cluster. The tasks of a dead worker run on another worker."""
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
