"""Measure the processor seconds of the tests, and list the slowest: `pytest --costs`."""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from numba.core import event

from fp9_rtl.tools import yosys

SHOWN = 10

OWN, CHILDREN, COMPILING = "own", "children", "compiling"
"""Parts of a cost in seconds: own processes, child processes, and compiling kernels."""

Costs = dict[str, Counter[str]]
"""Seconds and number of tests for each test function, or for work outside of tests."""


class _Compiling(event.Listener):
    """Processor seconds in which Numba compiled. Nested compilations count once."""

    def __init__(self) -> None:
        self.seconds, self._depth, self._since = 0.0, 0, 0.0

    def on_start(self, _: event.Event) -> None:
        if not self._depth:
            self._since = time.process_time()
        self._depth += 1

    def on_end(self, _: event.Event) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.process_time() - self._since


class Meter:
    """A pytest plugin that measures each process and prints the sum of all processes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._compiling = _Compiling()
        event.register("numba:compile", self._compiling)
        self.own: Costs = {}
        self._workers: Costs = {}

    def _seconds(self) -> Counter[str]:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Counter(
            {
                OWN: time.process_time(),
                CHILDREN: children.ru_utime + children.ru_stime,
                COMPILING: self._compiling.seconds,
            }
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        before = self._seconds()
        result = yield
        spent = self._seconds()
        spent.subtract(before)
        _add(self.own, item.nodeid.partition("[")[0], spent + Counter(tests=1))
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        before = self._seconds()[CHILDREN]
        _end_yosys()
        outside = self._seconds()
        _add(self.own, "Yosys, in all tests", {CHILDREN: outside[CHILDREN] - before})
        for cost in self.own.values():
            outside.subtract(cost)
        del outside["tests"]
        if self._config.pluginmanager.has_plugin("dsession"):
            del outside[CHILDREN]  # the workers, which say themselves what they took
        _add(self.own, "imports, collection, and between tests", outside)
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["costs"] = {cause: dict(cost) for cause, cost in self.own.items()}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for cause, cost in getattr(node, "workeroutput", {}).get("costs", {}).items():
            _add(self._workers, cause, cost)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        costs = dict(self._workers)
        for cause, cost in self.own.items():
            _add(costs, cause, cost)
        terminalreporter.section("processor seconds")
        for line in lines(costs):
            terminalreporter.write_line(line)


def _end_yosys() -> None:
    """End the process that forks Yosys, because its time counts only after its end."""
    server = yosys._SERVER
    if server.process is not None and server._control is not None:
        yosys._end(server._control, server.process)


def _add(costs: Costs, cause: str, cost: Mapping[str, float]) -> None:
    costs.setdefault(cause, Counter()).update(cost)


def lines(costs: Costs) -> list[str]:
    """Return the cost of all tests, and the slowest causes."""
    total = sum(costs.values(), Counter())
    slowest = sorted(costs, key=lambda cause: _all(costs[cause]), reverse=True)[:SHOWN]
    return [_line("everything", total), *(_line(cause, costs[cause]) for cause in slowest)]


def _all(cost: Counter[str]) -> float:
    return cost[OWN] + cost[CHILDREN]


def _line(cause: str, cost: Counter[str]) -> str:
    parts = f"{cost[CHILDREN]:.1f} in children, {cost[COMPILING]:.1f} compiling kernels"
    return f"{_all(cost):8.1f} s  {cause} ({cost['tests']} tests; {parts})"
