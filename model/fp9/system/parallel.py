"""Work in parts, on several threads and with progress. Ctrl-C takes effect after the current parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TypeVar

Part = TypeVar("Part")

Progress = Callable[[float], None]
"""Function that is called with the fraction of work done, which rises to 1."""

STREAMED = 1 << 20
"""Number of elements that a thread processes at once, if each element is read and written once."""

CACHED = 1 << 16
"""Number of elements that a thread processes at once, if elements are read several times. These elements and
the temporary arrays fit the second-level cache.
"""

PRODUCTS = 1 << 23
"""Number of products that a thread computes at once. This takes some tens of milliseconds, so that Ctrl-C takes
effect soon.
"""

WORTH_A_THREAD = 1 << 20
"""Smallest number of elements or products for which one more thread saves time, with vector kernels."""


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_parts(
    work: Callable[[Part], None], parts: Iterable[Part], threads: int | None, progress: Progress | None = None
) -> None:
    """Call `work` for every part, on `threads` threads. None means one thread for each core.

    `work` must release the GIL to gain from threads. Raises ValueError for less than one thread. An exception
    from `work` is raised after the current parts have ended.
    """
    slices = list(parts)
    count = _count(threads, len(slices))
    if count <= 1:
        for done, part in enumerate(slices, 1):
            work(part)
            if progress:
                progress(done / len(slices))
        return
    with ThreadPoolExecutor(count) as pool:
        pending = {pool.submit(work, part) for part in slices}
        try:
            while pending:
                done_now, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done_now:
                    future.result()
                if progress:
                    progress(1 - len(pending) / len(slices))
        except BaseException:
            for future in pending:
                future.cancel()
            raise


def over_parts(size: int, threads: int | None, work: Callable[[slice], None], part: int = STREAMED) -> None:
    """Call `work` with slices of `part` elements that cover range(size). Large arrays use threads as `run_parts` does.

    Memory use, apart from input and output, does not grow with `size`. Raises ValueError for less than one thread.
    """
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
    """Return slices of rows. Each has about `part` products, and there are enough slices for the threads.

    Each thread gets at least `worth` products.
    """
    count = _count(threads, rows * products_per_row // worth)
    length = max(1, min(part // max(products_per_row, 1), -(-rows // count)))
    return [slice(start, min(start + length, rows)) for start in range(0, rows, length)]


def _count(threads: int | None, wanted: int) -> int:
    if threads is not None and threads < 1:
        raise ValueError(f"{threads} threads given; give 1 or more, or None for all cores")
    return 1 if wanted <= 1 else min(threads or cores(), wanted)
