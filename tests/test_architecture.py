"""The page of the architecture says what the code is."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.floorplan import FOLDERS, ROOT, contracted, draw, entries

INTERFACES = {package: {"__init__"} for package in FOLDERS}
"""Modules that only export the public interface."""


@pytest.mark.parametrize("package", FOLDERS)
def test_every_entry_of_a_package_has_a_layer(package: str) -> None:
    named = {entry.name for entry in contracted() if entry.package == package}
    assert entries(package) - INTERFACES[package] == named


def test_every_entry_has_a_docstring_of_one_sentence() -> None:
    assert [entry.name for entry in contracted() if not entry.words.endswith(".") or len(entry.words) > 240] == []


def test_the_picture_is_that_of_the_contracts(tmp_path: Path) -> None:
    draw(tmp_path / "floorplan.svg")
    assert (tmp_path / "floorplan.svg").read_text() == (ROOT / "docs" / "floorplan.svg").read_text()


def test_files_that_pages_name_exist() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"`((?:model|rtl|sim|tests)/[\w./]+)`", page.read_text())}
    assert named
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


@functools.cache
def _nodes() -> dict[Path, list[ast.AST]]:
    """All nodes of the syntax tree of each source file."""
    paths = sorted(path for folder in set(FOLDERS.values()) for path in (ROOT / folder).rglob("*.py"))
    return {path: [*ast.walk(ast.parse(path.read_text()))] for path in paths}


def _deferred(nodes: list[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements inside functions."""
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) and node.col_offset]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in imports:
        if any(function.lineno <= node.lineno <= (function.end_lineno or 0) for function in functions):
            yield node


@pytest.mark.parametrize("package", FOLDERS)
def test_an_import_inside_a_function_says_why(package: str) -> None:
    """A package is slow to load or optional; the reason stands at the import, or at the one just above it."""
    bare = []
    for path in sorted((ROOT / FOLDERS[package]).rglob("*.py")):
        lines, said = path.read_text().splitlines(), set[int]()
        for node in sorted(_deferred(_nodes()[path]), key=lambda node: node.lineno):
            last = node.end_lineno or node.lineno
            here = re.search("# (.*, )?(slow to load|optional)", "\n".join(lines[node.lineno - 1 : last]))
            if here or node.lineno - 1 in said:
                said.add(last)
            else:
                bare.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert bare == []


def _kinds() -> set[str]:
    """The names of all classes that derive from Unit, directly or not."""
    classes = [node for nodes in _nodes().values() for node in nodes if isinstance(node, ast.ClassDef)]
    found = {"Unit"}
    while (
        more := {c.name for c in classes if found & {base.id for base in c.bases if isinstance(base, ast.Name)}} - found
    ):
        found |= more
    return found - {"Unit"}


def _kind_tests(nodes: Iterable[ast.AST], kinds: set[str]) -> Iterator[ast.AST]:
    """Calls of isinstance or issubclass with a kind of unit, and match patterns of a kind."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            asks = node.func.id in ("isinstance", "issubclass")
            if asks and kinds & {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}:
                yield node
        elif isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name) and node.cls.id in kinds:
            yield node


def test_no_code_tests_the_kind_of_a_unit() -> None:
    """A hook with a row for the kind, a view (`fp9.units.views`) or a property of the unit decides instead."""
    kinds = _kinds()
    assert {"Dot", "Mac", "Cast", "Quantiser", "Fma"} <= kinds
    found = [
        f"{path.relative_to(ROOT)}: {ast.unparse(x)}"
        for path, nodes in _nodes().items()
        for x in _kind_tests(nodes, kinds)
    ]
    assert found == []


def test_a_test_of_a_kind_is_noticed() -> None:
    text = "isinstance(unit, (int, Mac))\nmatch unit:\n    case Dot():\n        pass\nisinstance(unit, int)\n"
    assert len([*_kind_tests(ast.walk(ast.parse(text)), {"Dot", "Mac"})]) == 2
