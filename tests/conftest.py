"""Options of every test run."""

from __future__ import annotations

import pytest

from tests.costs import Meter


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="say at the end what the tests cost, and the dearest causes")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--costs"):
        config.pluginmanager.register(Meter(config), "costs")
