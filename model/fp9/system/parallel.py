"""Work in parts on threads: on all cores, with progress, and stopped by an interrupt after the parts under way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TypeVar

Part = TypeVar("Part")

Progress = Callable[[float], None]
"""Called with the fraction of the work that is done, rising to 1."""

STREAMED = 1 << 20
"""Elements of a part that is read and written once."""

CACHED = 1 << 16
"""Elements of a part that stays in the second-level cache over several passes, its temporaries with it."""

PRODUCTS = 1 << 23
"""Products in a part: some tens of milliseconds, so that an interrupt is answered soon."""

WORTH_A_THREAD = 1 << 20
"""Elements or products from which a thread gains more than its start costs, in vector kernels."""


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_parts(
    work: Callable[[Part], None], parts: Iterable[Part], threads: int | None, progress: Progress | None = None
) -> None:
    """Call `work` for every part, on so many threads (None: one for each core).

    To gain, `work` must release the interpreter's lock. Raises ValueError for fewer than one thread, and what `work`
    raises, after the parts under way have ended.
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
    """Call `work` with slices of `part` elements that cover range(size); `threads` as `run_parts`, for large arrays.

    Memory beside input and output stays constant. Raises ValueError for less than one thread.
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
    """Slices of rows, each of about `part` products, and enough of them for the threads.

    A thread gets `worth` products at least.
    """
    count = _count(threads, rows * products_per_row // worth)
    length = max(1, min(part // max(products_per_row, 1), -(-rows // count)))
    return [slice(start, min(start + length, rows)) for start in range(0, rows, length)]


def _count(threads: int | None, wanted: int) -> int:
    """How many threads to take of those that are `wanted`; the system is asked only for more than one."""
    if threads is not None and threads < 1:
        raise ValueError(f"{threads} threads given; give 1 or more, or None for all cores")
    return 1 if wanted <= 1 else min(threads or cores(), wanted)
