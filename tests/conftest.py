"""Options of every test run."""

from __future__ import annotations

import gc
from collections import Counter

import pytest

import fp9.kernels  # noqa: F401  tests of small arrays reach the kernels: see fp9.system.warming
from fp9.units import Unit
from tests.support.costs import Meter


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="say at the end what the tests cost, and the slowest causes")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--costs"):
        config.pluginmanager.register(Meter(config), "costs")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked `every(n)` each n-th row is left to `make test`, long ones not counted; the others are slow."""
    rows: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("every")
        if mark is None or item.get_closest_marker("long"):
            continue
        test = item.nodeid.partition("[")[0]
        if rows[test] % mark.args[0]:
            item.add_marker(pytest.mark.slow)
        rows[test] += 1
    items.sort(key=_unit)


def _unit(item: pytest.Item) -> str:
    """The unit of a row, by which rows are sorted: one process then runs most rows of a unit, and makes its suites."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return next((value.name for value in parameters.values() if isinstance(value, Unit)), "")


def pytest_collection_finish() -> None:
    """What is loaded stays to the end, and little that tests make is a circle: they do not look for it so often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)
