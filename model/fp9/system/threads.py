"""Work in parts: on threads, with progress, and stopped by an interrupt after the parts under way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

Progress = Callable[[float], None]
"""Called with the fraction of the work that is done, rising to 1."""


def run_parts(
    work: Callable[[slice], None], parts: Iterable[slice], threads: int | None, progress: Progress | None
) -> None:
    """Call `work` for every part, on so many threads (None: one for each core).

    Raises ValueError for fewer than one thread, and what `work` raises, after the parts under way have ended.
    """
    if threads is not None and threads < 1:
        raise ValueError(f"{threads} threads given; give 1 or more, or none for one on each core")
    slices = list(parts)
    count = min(threads or os.cpu_count() or 1, len(slices))
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


def row_parts(rows: int, products_per_row: int, threads: int | None) -> list[slice]:
    """Slices of rows, each of about `PART` products, and enough of them for the threads."""
    count = threads or os.cpu_count() or 1
    length = max(1, min(PART // max(products_per_row, 1), -(-rows // count)))
    return [slice(start, min(start + length, rows)) for start in range(0, rows, length)]


PART = 1 << 23
"""Products in a part: some tens of milliseconds, so that an interrupt is answered soon."""
