"""Suites are the same on every machine."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import fp9.suites

FILES = sorted(Path(fp9.suites.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_equal_numbers_are_ordered_by_their_place(path: Path) -> None:
    """NumPy's own order of equal numbers is another where the processor has AVX-512: a suite of floating-point units
    was chosen differently there."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    sorts = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "argsort"]
    for call in sorts:
        kinds = [keyword.value for keyword in call.keywords if keyword.arg == "kind"]
        assert [ast.literal_eval(kind) for kind in kinds] == ["stable"], f"line {call.lineno}"
