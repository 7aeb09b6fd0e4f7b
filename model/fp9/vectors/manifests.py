"""Manifests of vector files, which state the unit and describe the file's columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fp9.formats.rounding import Flags, NanSign
from fp9.system.version import __version__
from fp9.units import FLAGS_PORT, Cast, Dot, Fpu, Mul, MultiFpu, Port, Quantiser, Unit
from fp9.units.hooks import Hook
from fp9.vectors.encodings import FileFormat


def manifest_path(path: Path) -> Path:
    """Return the path of a vector file's manifest."""
    return path.with_suffix(".json") if path.suffix == ".vec" else path.with_name(f"{path.name}.json")


def manifest(
    unit: Unit, form: FileFormat, count: int, origin: Mapping[str, Any], sha256: str, score: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {
        "generator": f"fp9 {__version__}",
        "unit": unit.name,
        "spec": unit.describe(),
        "policies": policies(unit),
        "columns": columns(unit),
        "layout": form.layout((*unit.inputs, *unit.outputs)),
        "count": count,
        "origin": dict(origin),
        "sha256": sha256,
        "mutation_score": score,
    }


def columns(unit: Unit) -> list[dict[str, Any]]:
    """Describe each port, in the order of a vector file's columns."""
    return [_column(port, "in") for port in unit.inputs] + [_column(port, "out") for port in unit.outputs]


def _column(port: Port, direction: str) -> dict[str, Any]:
    said: dict[str, Any] = {
        "port": port.name,
        "width": port.width,
        "direction": direction,
        "signed": port.signed,
        "meaning": port.doc,
    }
    if port.formats:
        said["formats"] = [fmt.name for fmt in port.formats]
    if port.select:
        # The port that selects the format of the codes.
        said["select"] = port.select
    if port.choices:
        # Names of operations, formats or modes by port value.
        said["values"] = {str(value): choice for value, choice in enumerate(port.choices)}
    if port.doc == FLAGS_PORT.doc:
        said["bits"] = {str(flag.bit_length() - 1): str(flag.name).lower() for flag in Flags}
    return said


def _cast_policies(unit: Cast) -> dict[str, Any]:
    policy = unit.policy(unit.targets[0], unit.roundings[0], unit.overflow[0])
    return {
        "roundings": [rounding.value for rounding in unit.roundings],
        "overflow": [overflow.value for overflow in unit.overflow],
        "nan_to_zero": policy.nan_to_zero,
        "inf_clip": policy.inf_clip,
        **({} if policy.nan_sign is NanSign.KEPT else {"nan_sign": policy.nan_sign.value}),
        **({"nan": {fmt.name: code for fmt, code in zip(unit.targets, unit.nan, strict=True)}} if unit.nan else {}),
        "hybrid": "up where F >= T, certain overflow from 40960",
        "tininess": "after rounding",
    }


def _engine_policies(unit: Mul | Dot | Fpu) -> dict[str, Any]:
    return {
        "rounding": unit.engine.result.rounding.value,
        "overflow": unit.engine.result.overflow.value,
        "zero_bypass": unit.engine.nan.zero_bypass,
        "nan": "canonical",
        "tininess": "after rounding",
    }


def _quantiser_policies(unit: Quantiser) -> dict[str, Any]:
    return {
        "rules": [rule.name for rule in unit.rules],
        "rounding": unit.block.rounding.value,
        "overflow": "saturate",
        "nan": "an infinity or NaN makes the scale NaN and all elements 0",
    }


def _multi_fpu_policies(unit: MultiFpu) -> dict[str, Any]:
    return {
        "roundings": [rounding.value for rounding in unit.roundings],
        "overflow": [overflow.value for overflow in unit.overflow],
        "overflow of wide results": "directed",
        "nan": "canonical, positive",
        "tininess": "before rounding" if unit.tiny_before_rounding else "after rounding",
    }


policies: Hook[[], dict[str, Any]] = Hook(
    "policies of vectors",
    {
        Cast: _cast_policies,
        Mul: _engine_policies,
        Dot: _engine_policies,
        Fpu: _engine_policies,
        MultiFpu: _multi_fpu_policies,
        Quantiser: _quantiser_policies,
    },
    otherwise=lambda unit: {"overflow": "inf", "nan": "canonical"},
)
"""Return the switches that decide a unit's results in addition to its formats, for programs that read its vectors."""


_FIELDS = {"unit": str, "spec": list, "policies": dict, "columns": list, "origin": dict, "sha256": str, "count": int}


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a vector file.

    Raises ValueError if the manifest is invalid.
    """
    side = manifest_path(path)
    try:
        said = json.loads(side.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError(f"{side} is no vector manifest; export the vectors again") from None
    if not isinstance(said, dict) or not all(isinstance(said.get(field), kind) for field, kind in _FIELDS.items()):
        raise ValueError(f"{side} is no vector manifest; export the vectors again")
    return said


def differences(said: Mapping[str, Any], unit: Unit, form: FileFormat) -> list[str]:
    found = _other_columns(said["columns"], columns(unit))
    if said["spec"] != unit.describe():
        found.append(f"it was made for another spec of {unit.name}")
    if said["policies"] != policies(unit):
        found.append(f"its policies are {_words(said['policies'])}, those of {unit.name} {_words(policies(unit))}")
    if said.get("layout") != form.layout((*unit.inputs, *unit.outputs)):
        found.append(f"its layout is not that of a {form.suffix} file of {unit.name}")
    return found


def _other_columns(given: list[Any], ours: list[dict[str, Any]]) -> list[str]:
    if len(given) != len(ours) or not all(isinstance(column, dict) for column in given):
        return [f"it has {len(given)} columns, the unit {len(ours)} ports"]
    return [
        f"its column {place} has {key} {theirs.get(key)!r}, that of the unit is {value!r}"
        for place, (theirs, column) in enumerate(zip(given, ours, strict=True), 1)
        for key, value in column.items()
        if theirs.get(key) != value
    ]


def _words(said: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in said.items()) or "empty"
