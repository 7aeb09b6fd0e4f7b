"""The examples in the documentation and in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PACKAGES = [ROOT / "model" / "fp9", ROOT / "rtl" / "fp9_rtl", ROOT / "sim" / "fp9_sim"]
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py") if ">>>" in path.read_text())


def dotted(path: Path) -> str:
    """The name that a module's file is imported by."""
    place = path.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(place[:-1] if place[-1] == "__init__" else place)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_give_what_it_prints(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("name", [dotted(path) for path in MODULES])
def test_examples_of_a_module_give_what_it_prints(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted and not found.failed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    targets = [part.split(")")[0].split("#")[0] for part in page.read_text().split("](")[1:]]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []
