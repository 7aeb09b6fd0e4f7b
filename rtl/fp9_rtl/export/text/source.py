"""Find names and comments in the Python source at a given line."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

Place = tuple[str, int]

_OPERATORS: dict[str, tuple[type[ast.AST], ...]] = {
    "$and": (ast.BitAnd,),
    "$or": (ast.BitOr,),
    "$xor": (ast.BitXor,),
    "$not": (ast.Invert,),
    "$add": (ast.Add,),
    "$sub": (ast.Sub,),
    "$mul": (ast.Mult,),
    "$neg": (ast.USub,),
    "$shl": (ast.LShift,),
    "$shr": (ast.RShift,),
    "$eq": (ast.Eq,),
    "$is_zero": (ast.Eq, ast.Invert),
    "$ne": (ast.NotEq,),
    "$lt": (ast.Lt,),
    "$le": (ast.LtE,),
    "$gt": (ast.Gt,),
    "$ge": (ast.GtE,),
}
_CALLS = {"$mux": "Mux", "$reduce_or": "any", "$reduce_and": "all", "$reduce_xor": "xor"}


def value_name(place: Place | None, kind: str) -> str | None:
    """Return the local name that the Python source gives to a cell's value."""
    for target, value in _assignments(place[0]).get(place[1], ()) if place else ():
        if _outermost(value, kind):
            return target.strip("_")
    return None


def comment(place: Place | None) -> str | None:
    """Return the comment at the end of a source line, or above the line."""
    lines = _lines(place[0]) if place else ()
    if place is None or not 0 < place[1] <= len(lines):
        return None
    found = re.search(r"\s# (?!type:|noqa)(.*)$", lines[place[1] - 1])
    if found:
        return found[1].strip()
    above: list[str] = []
    for line in reversed(lines[: place[1] - 1]):
        if not line.strip().startswith("# "):
            break
        above.insert(0, line.strip()[2:])
    return " ".join(above) or None


@functools.cache
def _lines(file: str) -> tuple[str, ...]:
    try:
        return tuple(Path(file).read_text(encoding="utf-8").splitlines())
    except OSError:
        return ()


@functools.cache
def _assignments(file: str) -> dict[int, list[tuple[str, ast.expr]]]:
    """Return the (name, value) pairs of the assignments on each source line. Deeper syntax nodes come first."""
    # The name of a function counts as the name of the value that the function returns.
    found: dict[int, list[tuple[str, ast.expr]]] = {}
    for node in ast.walk(ast.parse("\n".join(_lines(file)))):
        for name, value in _named(node):
            for line in range(value.lineno, (value.end_lineno or value.lineno) + 1):
                found.setdefault(line, []).insert(0, (name, value))
    return found


def _named(node: ast.AST) -> list[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        pairs = [(targets[0], node.value)]
        if isinstance(targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(targets[0].elts, node.value.elts, strict=False))
        return [(_last_name(target), value) for target, value in pairs if _last_name(target)]
    if isinstance(node, ast.FunctionDef):
        returns = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
        return [(node.name, value) for value in returns]
    return []


def _last_name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) else ""


def _outermost(value: ast.expr, kind: str) -> bool:
    if isinstance(value, ast.Call):
        name = _last_name(value.func)
        return name == _CALLS.get(kind)
    operator: ast.AST | None = None
    if isinstance(value, ast.BinOp | ast.UnaryOp):
        operator = value.op
    elif isinstance(value, ast.Compare):
        operator = value.ops[0]
    return operator is not None and isinstance(operator, _OPERATORS.get(kind, ()))


def context_name(place: Place | None) -> str | None:
    """Return the name of the variable that a source line assigns."""
    found = _assignments(place[0]).get(place[1]) if place else None
    if found:
        return found[0][0].strip("_")
    named = re.search(r"(\w+)\.eq\(", _lines(place[0])[place[1] - 1]) if place and _lines(place[0]) else None
    return named[1].strip("_") if named else None
