"""Packages of the simulation import only names of each other's public interface."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fp9_sim

PACKAGE = Path(fp9_sim.__file__).parent
PACKAGES = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def imported(package: str) -> Iterator[tuple[str, str]]:
    """Modules of `package`, and names, that files outside it import."""
    for source in PACKAGE.rglob("*.py"):
        if source.relative_to(PACKAGE).parts[0] == package:
            continue
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"fp9_sim.{package}."):
                yield from ((str(node.module), alias.name) for alias in node.names)


def exported(interface: ast.Module) -> list[str]:
    """The names of `__all__`, read without importing the package."""
    assigned = [node for node in interface.body if isinstance(node, ast.Assign)]
    (said,) = (node.value for node in assigned if ast.unparse(node.targets[0]) == "__all__")
    names: list[str] = ast.literal_eval(said)
    return names


@pytest.mark.every(4)
@pytest.mark.parametrize("package", PACKAGES)
def test_others_import_the_public_interface_only(package: str) -> None:
    interface = ast.parse((PACKAGE / package / "__init__.py").read_text())
    assert (ast.get_docstring(interface) or "").splitlines()[0].endswith(".")
    names = exported(interface)
    modules = tuple(f"fp9_sim.{package}.{name}." for name in names)  # with what a subfolder holds
    private = [
        (module, name)
        for module, name in imported(package)
        if name not in names and not f"{module}.".startswith(modules)
    ]
    assert private == []


def test_who_takes_from_the_bench_loads_no_cocotb() -> None:
    """It loads pytest, which takes each process of an update a third of a second."""
    modules = {module for module, _ in imported("bench") if module != "fp9_sim.bench"}
    assert modules
    for module in modules:
        source = ast.parse((PACKAGE / "bench" / f"{module.rpartition('.')[2]}.py").read_text())
        loaded = [node for node in ast.walk(source) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert not [ast.unparse(node) for node in loaded if "cocotb" in ast.unparse(node)], module
