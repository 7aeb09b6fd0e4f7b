"""The examples in the documentation and in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
import pydoc
import re
from pathlib import Path

import pytest

from fp9_sim.evidence import site

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "model"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = sorted(path.relative_to(MODEL) for path in MODEL.rglob("*.py") if ">>>" in path.read_text())
MODULES = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in WITH_EXAMPLES]


def place(page: Path) -> str:
    """A page's path in the repository, as the name of a test."""
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=place)
def test_examples_of_a_page_give_what_it_prints(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_give_what_it_prints(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted
    assert results.failed == 0


NOT_PYTHON = {"fp9.commands": "a group of entry points", "fp9_fma_fp32_ocp.h": "a C header"}


@pytest.mark.parametrize("page", PAGES, ids=place)
def test_names_of_the_packages_on_a_page_exist(page: Path) -> None:
    named = set(re.findall(r"`(fp9(?:_\w+)?(?:\.\w+)+)", page.read_text())) - NOT_PYTHON.keys()
    torch = {name for name in named if name.startswith("fp9_ml.torch")}
    missing = [name for name in sorted(named - torch) if pydoc.locate(name) is None]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=place)
def test_links_of_a_page_lead_to_files(page: Path) -> None:
    targets = [part.split(")")[0].split("#")[0] for part in page.read_text().split("](")[1:]]
    local = [page.parent / target for target in targets if target and "://" not in target]
    assert [str(path) for path in local if not path.exists() and not built(page, path)] == []


EXPLORER = "explorer.html"
"""The page that `docs/.site/generate.py` builds beside those of `site`."""


def built(page: Path, target: Path) -> bool:
    """Whether a link of a page of the documentation leads to a page that is built with it."""
    docs = ROOT / "docs"
    inside = page.is_relative_to(docs) and target.resolve().is_relative_to(docs)
    return inside and str(target.resolve().relative_to(docs)) in {*site.names(), EXPLORER}
