"""What `fp9` gives of the packages above is declared for editors as it is."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import fp9

STUB = ast.parse((Path(fp9.__file__).parent / "system" / "above.pyi").read_text())
DECLARED = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}


def test_every_name_of_the_packages_above_is_declared() -> None:
    assert set(DECLARED) == {entry.name for entry in fp9._of_packages()}


@pytest.mark.parametrize("name", DECLARED)
def test_a_declaration_is_the_signature(name: str) -> None:
    said, real = DECLARED[name], inspect.signature(getattr(fp9, name))
    given = [*said.args.args, *said.args.kwonlyargs]
    assert [arg.arg for arg in given] == list(real.parameters)
    kinds = [parameter.kind for parameter in real.parameters.values()]
    assert kinds.count(inspect.Parameter.KEYWORD_ONLY) == len(said.args.kwonlyargs)
    types = [ast.unparse(arg.annotation) for arg in given if arg.annotation]
    assert types == [str(parameter.annotation) for parameter in real.parameters.values()]
    assert said.returns is not None and ast.unparse(said.returns) == real.return_annotation


def test_a_result_has_what_its_declaration_promises() -> None:
    (promised,) = (node for node in STUB.body if isinstance(node, ast.ClassDef))
    result = inspect.signature(fp9.regress, eval_str=True).return_annotation
    names = {node.name for node in promised.body if isinstance(node, ast.FunctionDef)}
    assert names <= {*result.__dataclass_fields__, *vars(result)}
