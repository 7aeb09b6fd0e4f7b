"""What the tests say of their own costs."""

from __future__ import annotations

import re
import time
from collections import Counter

import pytest

from tests.support.costs import CHILDREN, COMPILING, OWN, SHOWN, Meter, lines


def test_the_slowest_causes_follow_the_total_in_descending_order() -> None:
    costs = {f"cause {n}": Counter({OWN: n, CHILDREN: 2 * n, COMPILING: 0.5, "tests": 1}) for n in range(1, 15)}
    said = lines(costs)
    assert len(said) == 1 + SHOWN
    assert said[0] == "   315.0 s  everything (14 tests; 210.0 in children, 7.0 compiling kernels)"
    assert [re.findall(r"cause \d+", line)[0] for line in said[1:]] == [f"cause {n}" for n in range(14, 4, -1)]


def test_what_a_test_takes_is_its_own_and_all_else_is_said_apart(pytestconfig: pytest.Config) -> None:
    class Item:
        nodeid = "tests/test_x.py::test_x[a]"

    meter = Meter(pytestconfig)
    for _ in range(2):
        run = meter.pytest_runtest_protocol(Item())
        next(run)
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        with pytest.raises(StopIteration):
            run.send(True)
    cost = meter.own["tests/test_x.py::test_x"]
    assert cost["tests"] == 2 and cost[OWN] >= 0.1 and cost[CHILDREN] < 0.01
