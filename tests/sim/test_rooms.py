"""The rooms of the simulation: what one takes from another is among the names that the other offers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fp9_sim

PACKAGE = Path(fp9_sim.__file__).parent
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def taken(room: str) -> Iterator[tuple[str, str]]:
    """Modules of this package, and names, that the files outside of a room import from it."""
    for source in PACKAGE.rglob("*.py"):
        if source.relative_to(PACKAGE).parts[0] == room:
            continue
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"fp9_sim.{room}."):
                yield from ((str(node.module), alias.name) for alias in node.names)


def offered(face: ast.Module) -> list[str]:
    """The names of `__all__`, read without loading the room."""
    assigned = [node for node in face.body if isinstance(node, ast.Assign)]
    (said,) = (node.value for node in assigned if ast.unparse(node.targets[0]) == "__all__")
    names: list[str] = ast.literal_eval(said)
    return names


@pytest.mark.every(4)
@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for_and_what_others_may_use(room: str) -> None:
    face = ast.parse((PACKAGE / room / "__init__.py").read_text())
    assert (ast.get_docstring(face) or "").splitlines()[0].endswith(".")
    names = offered(face)
    modules = {f"fp9_sim.{room}.{name}" for name in names}
    unsaid = [(module, name) for module, name in taken(room) if name not in names and module not in modules]
    assert unsaid == []


def test_who_takes_from_the_benches_loads_no_cocotb() -> None:
    """It loads pytest, which takes each process of a campaign a third of a second."""
    modules = {module for module, _ in taken("benches") if module != "fp9_sim.benches"}
    assert modules
    for module in modules:
        source = ast.parse((PACKAGE / "benches" / f"{module.rpartition('.')[2]}.py").read_text())
        loaded = [node for node in ast.walk(source) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert not [ast.unparse(node) for node in loaded if "cocotb" in ast.unparse(node)], module
