"""Execution of a task in parts on several threads, with progress reports."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Generic, TypeVar

Part = TypeVar("Part")

Progress = Callable[[float], None]
"""Function that is called with the fraction of work done, which rises to 1."""

# Elements that a thread processes at once, if each element is read and written once.
STREAMED = 1 << 20

# Elements that a thread processes at once, if each element is read several times. They fit into the second-level cache.
CACHED = 1 << 16

# Products that a thread computes at once, in some tens of milliseconds, so that Ctrl-C takes effect soon.
PRODUCTS = 1 << 23

# Smallest number of elements or products for which one more thread saves time, with vector kernels.
WORTH_A_THREAD = 1 << 20


# Shortest measured work for which one more thread saves time. Waking a thread takes 20 to 100 us.
SECONDS_OF_A_THREAD = 250e-6

# Parts for each thread, if the work is long enough. A slow thread then takes fewer parts. A kernel packs one factor for
# each part, which takes noticeable time for parts of few rows.
_PIECES, _ROWS = 2, 256

_LARGEST_POOL = 64
_pool: ThreadPoolExecutor | None = None


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _helpers() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(_LARGEST_POOL, "fp9")
    return _pool


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)  # a child process inherits no threads


class _Parts(Generic[Part]):
    """Queue of the parts of a task, from which each free thread takes the next part."""

    def __init__(self, work: Callable[[Part], None], parts: list[Part]) -> None:
        self._work, self._parts, self._lock = work, parts, threading.Lock()
        self._taken = self._done = 0

    def take_all(self, progress: Progress | None = None) -> None:
        while (part := self._next()) is not None:
            try:
                self._work(part[0])
            except BaseException:
                # After an exception, no thread takes another part.
                self._taken = len(self._parts)
                raise
            with self._lock:
                self._done += 1
            if progress:
                progress(self._done / len(self._parts))

    def _next(self) -> tuple[Part] | None:
        with self._lock:
            if self._taken >= len(self._parts):
                return None
            self._taken += 1
            return (self._parts[self._taken - 1],)


def run_parts(
    work: Callable[[Part], None], parts: Iterable[Part], threads: int | None, progress: Progress | None = None
) -> None:
    """Call `work` for every part on `threads` threads, by default one thread for each core.

    `work` must release the GIL to run in parallel.
    """
    slices = list(parts)
    count = _count(threads, len(slices))
    if len(slices) == 1 and not progress:
        work(slices[0])
        return
    shared = _Parts(work, slices)
    helpers = [_helpers().submit(shared.take_all) for _ in range(min(count, _LARGEST_POOL) - 1)]
    try:
        # The calling thread works, too, so nested calls cannot deadlock.
        shared.take_all(progress)
    finally:
        # Wait for the running calls of `work` before an exception is raised.
        running = [helper for helper in helpers if not helper.cancel()]
        if running:
            wait(running)
    for helper in running:
        helper.result()
    if progress and running:
        progress(1.0)


class Rates:
    """Measured processor time in seconds per product, for each kind of work."""

    # Fixed costs distort shorter measurements, which may only lower a rate.
    SMALLEST = 1 << 17

    def __init__(self) -> None:
        self._rates: dict[Hashable, float] = {}

    def worth(self, kind: Hashable, unmeasured: int) -> int:
        """Return the number of products from which an additional thread saves time."""
        rate = self._rates.get(kind)
        return max(1, int(SECONDS_OF_A_THREAD / rate)) if rate else unmeasured

    def measured(self, kind: Hashable, work: Callable[[slice], None], products_per_row: int) -> Callable[[slice], None]:
        """Return a wrapper of `work` that measures the processor time of `work`."""
        # The first call may compile or load its kernel. Its rate splits later calls into short parts, which must be
        # able to lower the rate.

        def timed(rows: slice) -> None:
            begun = time.thread_time()
            work(rows)
            products = (rows.stop - rows.start) * products_per_row
            rate = (time.thread_time() - begun) / products
            known = self._rates.get(kind, 0.0)
            if products >= self.SMALLEST or rate < known:
                # A measured rate raises the stored rate by at most 20 %.
                self._rates[kind] = min(rate, 1.2 * known or rate)

        return timed


def over_parts(size: int, threads: int | None, work: Callable[[slice], None], part: int = STREAMED) -> None:
    """Call `work` for slices that cover range(size), each with at most `part` elements."""
    count = _count(threads, size // WORTH_A_THREAD)
    length = min(part, max(1, -(-size // count)))
    if 0 < size <= length:
        work(slice(0, size))
        return
    slices = (slice(start, min(start + length, size)) for start in range(0, size, length))
    if count == 1:
        for one in slices:
            work(one)
    else:
        run_parts(work, slices, count)


def row_parts(
    rows: int, products_per_row: int, threads: int | None, worth: int = WORTH_A_THREAD, part: int = PRODUCTS
) -> list[slice]:
    """Return slices that divide the rows of a matrix product into parts with at most `part` products each.

    If a single row has more than `part` products, the row is one part.
    """
    products = rows * products_per_row
    # Each thread gets at least `worth` products.
    count = _count(threads, products // worth)
    pieces = max(count, min(_PIECES * count, products // (2 * worth), rows // _ROWS)) if count > 1 else 1
    length = max(1, min(part // max(products_per_row, 1), -(-rows // pieces)))
    return [slice(start, min(start + length, rows)) for start in range(0, rows, length)]


def _count(threads: int | None, wanted: int) -> int:
    if threads is not None and threads < 1:
        raise ValueError(f"{threads} threads given; give 1 or more, or None for all cores")
    return 1 if wanted <= 1 else min(threads or cores(), wanted)
