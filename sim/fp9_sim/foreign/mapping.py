"""What the user says of a unit that is not ours: a TOML file that maps it to a unit spec.

files = ["rtl/acme_cast.sv"]      # Verilog or SystemVerilog, beside the TOML file
include = ["rtl/headers"]         # folders of what they `include, besides their own
top = "acme_cast"
unit = "cast_fp32_ocp_rne"        # of the catalogue; or a table [unit] with the fields of a unit file
latency = 2                       # clocks from operands to result; 0 or left out: no clock
nan = "any"                       # any NaN code is as good as ours; left out: ours alone
without = ["flags"]               # outputs that it does not have

[ports]                           # ours = theirs; ports of the same name may be left out
x = "fp32_in"
result = "q"

[constants]                       # their inputs that are tied to a value
test_mode = 0

[parameters]                      # of their module
WIDTH = 8

[clock]
port = "clock"
edge = "rising"                   # or "falling"

[reset]                           # where there is one
port = "rst_n"
active = "low"                    # or "high"

[handshake]                       # where it has one: all four, or in_valid alone beside a fixed latency
in_valid = "valid_i"
in_ready = "ready_o"
out_valid = "valid_o"
out_ready = "ready_i"
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9.units import MAX_STAGES, Mac, Unit, unit
from fp9.units import toml as unitfile
from fp9_rtl.pipelines.elastic import HANDSHAKE

MOST_CLOCKS = 64
"""Longest latency that can be checked."""


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_FIELDS = {
    "files": list,
    "include": list,
    "top": str,
    "unit": (str, dict),
    "latency": int,
    "nan": str,
    "without": list,
    "ports": dict,
    "constants": dict,
    "parameters": dict,
    "clock": dict,
    "reset": dict,
    "handshake": dict,
}


@dataclass(frozen=True)
class Foreign:
    """A unit that is not ours: its Verilog, and the spec that it is held to (its name made ours, stages if clocked).

    `latency` is the clocks from operands to result, and may be more than the stages that a unit of ours can have.
    `ports`, `constants`, `parameters` and `handshake` are keyed as in the file; `clock` and `reset` are a port and
    whether it is inverted (falling edge, active low), None where there is none.
    """

    spec: Unit
    latency: int
    top: str
    verilog: str
    ports: Mapping[str, str]
    constants: Mapping[str, int]
    parameters: Mapping[str, int]
    without: tuple[str, ...]
    any_nan: bool
    clock: tuple[str, bool] | None
    reset: tuple[str, bool] | None
    handshake: Mapping[str, str]


def load(path: Path | str) -> Foreign:
    """Read a mapping. Raises ValueError for what is missing, unknown or does not fit, OSError for unreadable files."""
    path = Path(path)
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    _check_fields(path, said)
    spec = _spec(path, said)
    names = [port.name for port in (*spec.inputs, *spec.outputs)]
    without = tuple(said.get("without", ()))
    _check_known(path, "without", without, [port.name for port in spec.outputs])
    _check_known(path, "ports", said.get("ports", {}), names)
    _check_known(path, "handshake", said.get("handshake", {}), HANDSHAKE)
    if set(without) >= {port.name for port in spec.outputs}:
        raise ValueError(f"{path}: without names every output; leave one to check")
    return Foreign(
        spec=spec,
        latency=said.get("latency", 0),
        top=_identifier(path, "top", said["top"]),
        verilog="\n".join(_source(path, path.parent / name, said.get("include", [])) for name in said["files"]),
        ports={n: _identifier(path, f"ports.{n}", said.get("ports", {}).get(n, n)) for n in names if n not in without},
        constants=_numbers(path, "constants", said),
        parameters=_numbers(path, "parameters", said),
        without=without,
        any_nan=_one_of(path, "nan", said.get("nan", "canonical"), ("any", "canonical")) == "any",
        clock=_pin(path, "clock", said.get("clock"), "edge", ("rising", "falling")),
        reset=_pin(path, "reset", said.get("reset"), "active", ("high", "low")),
        handshake={n: _identifier(path, f"handshake.{n}", v) for n, v in said.get("handshake", {}).items()},
    )


def _check_fields(path: Path, said: Mapping[str, Any]) -> None:
    for field, value in said.items():
        if field not in _FIELDS:
            raise ValueError(f"{path} has a field {field!r}; known are {', '.join(_FIELDS)}")
        if not isinstance(value, _FIELDS[field]) or isinstance(value, bool):  # type: ignore[arg-type]
            raise ValueError(f"{path}: {field} = {value!r} given; see `fp9 check-rtl --help` for its form")
    for field in ("files", "top", "unit"):
        if not said.get(field):
            raise ValueError(f"{path} needs the field {field!r}; add it")
    for field in ("files", "include", "without"):
        if not all(isinstance(item, str) for item in said.get(field, ())):
            raise ValueError(f"{path}: {field} must be a list of texts")


def _spec(path: Path, said: Mapping[str, Any]) -> Unit:
    """The unit that theirs is held to, with stages where it has a clock."""
    named = said["unit"]
    base = unit(named) if isinstance(named, str) else unitfile.build({"name": "unit", **named}, f"{path}: unit")
    latency = said.get("latency", 0)
    if not 0 <= latency <= MOST_CLOCKS:
        raise ValueError(f"{path}: latency {latency} given; give 0 to {MOST_CLOCKS}")
    if latency and "clock" not in said:
        raise ValueError(f"{path}: latency {latency} needs a [clock]; add one with its port")
    if isinstance(base, Mac) and "in_valid" not in said.get("handshake", {}):
        raise ValueError(f"{path}: a mac must know which clocks carry an operation; give handshake.in_valid")
    missing = [name for name in HANDSHAKE if name not in said.get("handshake", {})]
    if said.get("handshake") and (not latency or missing not in ([], [n for n in HANDSHAKE if n != "in_valid"])):
        raise ValueError(f"{path}: handshake needs a latency and {', '.join(HANDSHAKE)}, or in_valid alone")
    stages = min(latency, MAX_STAGES)
    return dataclasses.replace(base, name=f"check_{_identifier(path, 'top', said['top'])}", stages=stages)  # type: ignore[type-var]


def _check_known(path: Path, field: str, given: Any, known: Any) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(f"{path}: {field} names {unknown[0]!r}; the unit has {', '.join(known)}")


def _identifier(path: Path, field: str, value: object) -> str:
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        raise ValueError(f"{path}: {field} {value!r} given; give a Verilog name")
    return value


def _numbers(path: Path, field: str, said: Mapping[str, Any]) -> dict[str, int]:
    given = said.get(field, {})
    for name, value in given.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{path}: {field}.{name} = {value!r} given; give a number from 0 on")
    return {_identifier(path, field, name): int(value) for name, value in given.items()}


def _one_of(path: Path, field: str, value: object, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ValueError(f"{path}: {field} {value!r} given; give {' or '.join(known)}")
    return str(value)


def _pin(
    path: Path, field: str, said: Mapping[str, Any] | None, word: str, known: tuple[str, str]
) -> tuple[str, bool] | None:
    if said is None:
        return None
    _check_known(path, field, said, ("port", word))
    return _identifier(path, f"{field}.port", said.get("port")), _one_of(
        path, f"{field}.{word}", said.get(word, known[0]), known
    ) == known[1]


_INCLUDE = re.compile(r'^[ \t]*`include[ \t]+"([^"]+)".*$', re.MULTILINE)


def _source(path: Path, file: Path, include: Sequence[str], within: tuple[Path, ...] = ()) -> str:
    """A file with what it includes put in place, from its own folder or one of `include`."""
    if file in within:
        raise ValueError(f"{file} includes itself; remove the circle")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not a text file; give Verilog") from None

    def included(found: re.Match[str]) -> str:
        folders = [file.parent, *(path.parent / folder for folder in include)]
        header = next((folder / found[1] for folder in folders if (folder / found[1]).is_file()), None)
        if header is None:
            raise ValueError(f"{file} includes {found[1]}, which is not there; name its folder in include")
        return _source(path, header, include, (*within, file))

    return _INCLUDE.sub(included, text)
