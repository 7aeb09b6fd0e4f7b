"""Options of every test run."""

from __future__ import annotations

import gc

import pytest

from tests.costs import Meter


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="say at the end what the tests cost, and the dearest causes")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--costs"):
        config.pluginmanager.register(Meter(config), "costs")


def pytest_collection_finish() -> None:
    """What is loaded stays to the end, and little that tests make is a circle: they do not look for it so often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)
