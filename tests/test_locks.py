"""The two lists of exact packages: what `make` installs, and what `make test` adds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins(name: str) -> dict[str, str]:
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
    return {canonicalize_name(package): version for package, version in (line.split("==") for line in lines)}


MAIN, ADDED = pins("requirements.lock"), pins("requirements-test.lock")


def wanted(extra: str) -> list[Requirement]:
    """What an extra asks for, those of the extras that it names with it."""
    found = []
    for requirement in map(Requirement, PROJECT["optional-dependencies"][extra]):
        found += (
            [one for inner in requirement.extras for one in wanted(inner)]
            if requirement.name == "fp9"
            else [requirement]
        )
    return found


def test_every_package_is_pinned_once() -> None:
    assert not MAIN.keys() & ADDED.keys()


@pytest.mark.parametrize(
    ("extra", "packages"),
    [("demo", MAIN), *((extra, MAIN | ADDED) for extra in ("cluster", "docs", "parquet", "test", "lint"))],
)
def test_the_pins_are_what_the_extras_ask_for(extra: str, packages: dict[str, str]) -> None:
    for requirement in [*map(Requirement, PROJECT["dependencies"]), *wanted(extra)]:
        assert packages[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_the_makefile_locks_these_extras() -> None:
    target = (ROOT / "Makefile").read_text().partition("\nlock: ")[2].partition("\n\n")[0]
    assert re.findall(r"'\.\[(.*)\]'", target) == [
        "demo",
        "demo,cluster,docs,parquet,test,lint",
    ]
