"""A failing specification with fewer fields: each step that keeps the same fault is taken."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping

from tests.units.checks import ALL, CIRCUITS, MODELS, Fault, check_unit
from tests.units.values import engine_fields, in_groups

from fp9.units import Unit
from fp9.units.toml import as_table, build

MOST_STEPS = 60
"""Specifications that are tried at most."""

_SIMPLEST = ("e4m3", "e2m1", "fp32", "fp16")
"""Formats that take the place of others."""


def signature(kind: str, fault: Fault) -> str:
    """What faults of one class have in common: kind of unit, check, and what was said, numbers and formats apart."""
    said = fault.said if fault.name not in ("models", "verilator", "icarus") else "differ"
    return f"{kind} {fault.name} {signature_of(said)}"


def signature_of(said: str) -> str:
    """A message up to its first number."""
    return re.sub(r"[0-9].*", "", said)[:80].strip()


def shrunk(unit: Unit, seed: int, fault: Fault) -> tuple[Unit, Fault]:
    """A simpler unit with a fault of the same check, and its fault."""
    wanted, tries = signature(unit.kind, fault), 0
    checks = MODELS if fault.name in ("models", "text", "randoms", "corners", "smokes") else CIRCUITS
    checks = (*CIRCUITS, ALL["package"]) if fault.name == "package" else checks
    moved = True
    while moved and tries < MOST_STEPS:
        moved = False
        for fields in list(_simpler(full_table(unit))):
            tries += 1
            found = _fault_of(fields, seed, checks)
            if found is not None and signature(unit.kind, found[1]) == wanted:
                (unit, fault), moved = found, True
                break
            if tries >= MOST_STEPS:
                break
    return unit, fault


def _fault_of(fields: Mapping[str, object], seed: int, checks: tuple[Callable, ...]) -> tuple[Unit, Fault] | None:
    try:
        unit = build(fields)
    except Exception:  # what a constructor refuses is no simpler failure
        return None
    try:
        check_unit(unit, seed, checks)
    except Fault as fault:
        return unit, fault
    return None


def full_table(unit: Unit) -> dict[str, object]:
    """The fields of a unit that are not at their defaults, its engine as a table."""
    defaults = {field.name: field.default for field in dataclasses.fields(unit)}
    table = {name: value for name, value in as_table(unit).items() if getattr(unit, name, None) != defaults.get(name)}
    if isinstance(table.get("engine"), str):
        engine = unit.engine  # type: ignore[attr-defined]
        custom = build({**as_table(unit), "engine": in_groups(engine_fields(engine))})
        table["engine"] = as_table(custom)["engine"]
    return table


def _simpler(table: dict[str, object]) -> Iterator[dict[str, object]]:
    """Simpler specifications, the largest steps first."""
    for name in [name for name in table if name not in ("kind", "name")]:
        yield {key: value for key, value in table.items() if key != name}
    for name, value in table.items():
        if isinstance(value, list) and len(value) > 1:
            yield from ({**table, name: [item]} for item in value)
    engine = table.get("engine")
    for group, fields in engine.items() if isinstance(engine, dict) else ():
        for name in fields:
            fewer = {key: item for key, item in fields.items() if key != name}
            yield {**table, "engine": {**engine, group: fewer}}
    for name, value in table.items():
        if isinstance(value, list) and value[0] not in _SIMPLEST:
            yield from ({**table, name: [simple]} for simple in _SIMPLEST)
    if isinstance(table.get("stages"), int):
        yield from ({**table, "stages": stages} for stages in range(1, int(str(table["stages"]))))
