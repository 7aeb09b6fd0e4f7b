"""The examples in the documentation and in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = sorted(path.stem for path in (ROOT / "model" / "fp9").glob("*.py") if ">>>" in path.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_give_what_it_prints(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_give_what_it_prints(name: str) -> None:
    module = importlib.import_module("fp9" if name == "__init__" else f"fp9.{name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    targets = [part.split(")")[0].split("#")[0] for part in page.read_text().split("](")[1:]]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []
