"""Threads that share parts: every part is worked on once, errors and Ctrl-C end the work, nested calls do not block."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import fp9
from fp9.system import parallel


def test_every_part_is_worked_on_once_and_progress_ends_at_one() -> None:
    worked: list[int] = []
    told: list[float] = []
    parallel.run_parts(worked.append, range(100), 3, told.append)
    assert sorted(worked) == list(range(100))
    assert told[-1] == 1 and told == sorted(told)


def test_the_threads_live_on() -> None:
    """A second call starts no further thread."""
    both = threading.Barrier(2, timeout=10)
    parallel.run_parts(lambda _: both.wait() and None, range(2), 2)
    before = threading.active_count()
    for _ in range(20):
        parallel.run_parts(lambda _: both.wait() and None, range(2), 2)
    assert threading.active_count() == before


def test_the_first_error_ends_the_work() -> None:
    worked: list[int] = []

    def work(part: int) -> None:
        worked.append(part)
        if part == 3:
            raise KeyError(part)

    with pytest.raises(KeyError):
        parallel.run_parts(work, range(1000), 2)
    assert len(worked) < 1000


def test_nested_calls_do_not_block() -> None:
    worked: list[int] = []
    parallel.run_parts(lambda _: parallel.run_parts(worked.append, range(10), 4), range(200), 4)
    assert len(worked) == 2000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    parallel.run_parts(lambda _: None, range(10), 2)
    child = os.fork()
    if child == 0:
        worked: list[int] = []
        parallel.run_parts(worked.append, range(50), 2)
        os._exit(0 if len(worked) == 50 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_work_is_worth_a_thread_by_its_measured_rate() -> None:
    rates = parallel.Rates()
    assert rates.worth("work", 100) == 100
    rates.measured("work", lambda rows: None, parallel.Rates.SMALLEST)(slice(0, 1))
    fast = rates.worth("work", 100)
    rates = parallel.Rates()
    rates.measured("work", lambda rows: sum(range(10**6)) and None, parallel.Rates.SMALLEST)(slice(0, 1))
    assert 100 < rates.worth("work", 100) < fast


def test_a_slow_first_call_does_not_split_later_calls() -> None:
    """The first call compiles its kernel. Its rate splits the second call into parts that are short, but fast."""
    rates = parallel.Rates()
    rates.measured("work", lambda rows: sum(range(10**6)) and None, parallel.Rates.SMALLEST)(slice(0, 1))
    slow = rates.worth("work", 100)
    rates.measured("work", lambda rows: None, parallel.Rates.SMALLEST // 8)(slice(0, 1))
    assert rates.worth("work", 100) > 10 * slow


def test_a_clock_that_stands_still_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coarse clock may not advance during a short call."""
    monkeypatch.setattr("fp9.system.parallel.time.thread_time", lambda: 1.0)
    rates = parallel.Rates()
    rates.measured("work", lambda rows: None, parallel.Rates.SMALLEST)(slice(0, 1))
    assert rates.worth("work", 100) == 100


def test_results_do_not_depend_on_threads() -> None:
    random = np.random.default_rng(1)
    a, b = random.integers(0, 256, (2, 200, 200), dtype=np.uint8)
    one = fp9.matmul(a, b, "e4m3", "e5m2", engine="hopper", threads=1)
    for threads in (2, 5):
        assert np.array_equal(one, fp9.matmul(a, b, "e4m3", "e5m2", engine="hopper", threads=threads))
