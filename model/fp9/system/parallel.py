"""Elementwise work on parts of large arrays, on several cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

STREAMED = 1 << 20
"""Elements of a part that is read and written once."""

CACHED = 1 << 16
"""Elements of a part that stays in the second-level cache over several passes, its temporaries with it."""

_WORTH_A_THREAD = 1 << 20


def over_parts(size: int, threads: int | None, work: Callable[[slice], None], part: int = STREAMED) -> None:
    """Call `work` with slices of `part` elements that cover range(size), on `threads` threads.

    None means all cores for large arrays. To gain, `work` must release the interpreter's lock. Memory beside input and
    output stays constant. Raises ValueError for less than one thread.
    """
    if threads is not None and threads < 1:
        raise ValueError(f"{threads} threads given; give 1 or more, or None for all cores")
    count = min(threads or _cores(), max(1, size // _WORTH_A_THREAD))
    starts = range(0, size, min(part, max(1, -(-size // count))))
    if count == 1:
        _run(starts, size, work)
        return
    share = -(-len(starts) // count)
    with ThreadPoolExecutor(count) as pool:
        tasks = [pool.submit(_run, starts[i * share : (i + 1) * share], size, work) for i in range(count)]
        for task in tasks:
            task.result()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run(starts: range, size: int, work: Callable[[slice], None]) -> None:
    for start in starts:
        work(slice(start, min(start + starts.step, size)))
