"""Map a third-party unit to a unit specification, as the user's TOML file describes.

The page docs/reference/mapping.md explains every key of the mapping file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fp9.casts.arrays import decode_to, encode
from fp9.formats import format
from fp9.formats.policy import cast_policy
from fp9.formats.rounding import Flags
from fp9.system.reading import toml_of
from fp9.units import FLAGS_PORT, HANDSHAKE, MAX_STAGES, Port, Unit, non_defaults, unit
from fp9.units import toml as unitfile
from fp9.units.hooks import Hook
from fp9.units.views import stateless_sum_of, sum_of
from fp9_compare.diagnosis import Narrowed
from fp9_sim.third_party import keys
from fp9_sim.third_party.clocks import HELD, MOST_CLOCKS, check_handshake, latency_of
from fp9_sim.third_party.keys import Value
from fp9_sim.third_party.sources import text_of

FIELDS: dict[str, Any] = {
    "files": list,
    "include": list,
    "defines": dict,
    "top": str,
    "unit": (str, dict),
    "result": dict,
    "exact": dict,
    "latency": int,
    "nan": str,
    "without": list,
    "ports": dict,
    "flags": dict,
    "held": dict,
    "constants": dict,
    "parameters": dict,
    "clock": dict,
    "reset": dict,
    "enable": dict,
    "handshake": dict,
    "share": bool,
}

_FLAGS = tuple(flag.name.lower() for flag in Flags if flag.name and flag is not Flags.DIVIDE_BY_ZERO)


@dataclass(frozen=True)
class Exact:
    """An unrounded result in separate fields: (-1)^sign * significand * 2^(exponent + offset)."""

    significand: str
    # The exponent is a two's complement number.
    exponent: str
    sign: str | None = None
    # Ports that mark a NaN or an infinite result.
    nan: str | None = None
    inf: str | None = None
    offset: int = 0


_operands: Hook[[], Unit] = Hook(
    "spec of a result before it is narrowed", {Narrowed: lambda unit: unit.inner}, otherwise=lambda unit: unit
)


@dataclass(frozen=True)
class Design:
    """A third-party design (the DUT), with its Verilog source and the specification that the DUT must meet.

    `latency` is the number of clock cycles from operands to result, or None if the latency is unknown. `ports` maps
    each port of the specification to parts of DUT ports, most significant part first. `flags` maps each exception flag
    to the DUT port that outputs the flag. `held` assigns a constant code to each input that the specification has and
    the DUT lacks. `clock`, `reset`, `enable` and the values of `handshake` are pairs: a port name, and True for an
    active-low port or a falling clock edge.
    """

    path: Path
    spec: Unit
    latency: int | None
    top: str
    verilog: str
    ports: Mapping[str, tuple[str, ...]]
    flags: Mapping[str, str]
    held: Mapping[str, int]
    constants: Mapping[str, Value]
    parameters: Mapping[str, Value]
    without: tuple[str, ...]
    any_nan: bool
    clock: tuple[str, bool] | None
    reset: tuple[str, bool] | None
    enable: tuple[str, bool] | None
    handshake: Mapping[str, tuple[str, bool]]
    exact: Exact | None = None
    share: bool = True

    @property
    def operands(self) -> Unit:
        """Return the unit specification whose test suites are used for the DUT.

        If the mapping specifies a second rounding (`[result]`), the returned specification omits the second rounding.
        """
        return _operands(self.spec)

    @property
    def latency_from_handshake(self) -> bool:
        """Return whether the latency can vary, so that only the handshake marks the results."""
        return self.latency == MOST_CLOCKS and ("out_valid" in self.handshake or self.holds_operands)

    @property
    def holds_operands(self) -> bool:
        """Return whether the DUT runs one operation at a time and needs stable operands until the result comes."""
        return "start" in self.handshake

    @property
    def flag_bits(self) -> int:
        """Return the bit mask of the exception flags that the DUT outputs."""
        named = [Flags[name.upper()] for name in self.flags]
        return int(sum(named)) if named else (1 << FLAGS_PORT.width) - 1


def load(path: Path | str) -> Design:
    """Return the third-party design that a mapping file describes.

    Raises ValueError for missing, unknown or invalid entries, and OSError for unreadable files.
    """
    path = Path(path)
    said = _read(path)
    latency, spec = latency_of(path, said), _spec(path, said)
    held = {name: _code(path, spec, name, value) for name, value in said.get("held", {}).items()}
    names = [port.name for port in (*spec.inputs, *spec.outputs)]
    without = tuple(said.get("without", ()))
    keys.check_known(path, "without", without, [port.name for port in spec.outputs])
    keys.check_known(path, "ports", said.get("ports", {}), names)
    keys.check_known(path, "handshake", said.get("handshake", {}), (*HANDSHAKE, *HELD))
    keys.check_known(path, "flags", said.get("flags", {}), _FLAGS)
    flags = {n: keys.text(path, f"flags.{n}", v) for n, v in said.get("flags", {}).items()}
    if set(without) >= {port.name for port in spec.outputs}:
        raise ValueError(f"{path}: without lists every output; leave at least one to compare")
    exact = _exact(path, spec, said["exact"]) if "exact" in said else None
    apart = {*without, *held, *([FLAGS_PORT.name] if flags else []), *(["result"] if exact else [])}
    return Design(
        path=path,
        spec=spec,
        latency=latency,
        top=keys.identifier(path, "top", said["top"]),
        verilog=text_of(path, said["top"], said["files"], said.get("include", []), said.get("defines", {})),
        ports={n: keys.pieces(path, f"ports.{n}", said.get("ports", {}).get(n, n)) for n in names if n not in apart},
        flags=flags,
        held=held,
        constants=keys.values(path, "constants", said),
        parameters=keys.values(path, "parameters", said),
        without=without,
        any_nan=keys.one_of(path, "nan", said.get("nan", "canonical"), ("any", "canonical")) == "any",
        clock=keys.pin(path, "clock", said.get("clock"), "edge", ("rising", "falling")),
        reset=keys.pin(path, "reset", said.get("reset"), "active", ("high", "low")),
        enable=keys.pin(path, "enable", said.get("enable"), "active", ("high", "low")),
        handshake={n: keys.inverted(path, f"handshake.{n}", v) for n, v in said.get("handshake", {}).items()},
        exact=exact,
        share=said.get("share", True),
    )


def spec_of(path: Path) -> Unit:
    """Return the unit specification in a mapping file, without reading the DUT's source files."""
    return _spec(path, _read(path))


def _read(path: Path) -> dict[str, Any]:
    said = toml_of(path, "a mapping")
    _check_fields(path, said)
    return said


def _check_fields(path: Path, said: Mapping[str, Any]) -> None:
    for field, value in said.items():
        if field not in FIELDS:
            raise ValueError(f"{path} has a field {field!r}; known are {', '.join(FIELDS)}")
        if not isinstance(value, FIELDS[field]) or isinstance(value, bool) != (FIELDS[field] is bool):
            raise ValueError(f"{path}: {field} = {value!r} given; see docs/reference/mapping.md")
    for field in ("files", "top", "unit"):
        if not said.get(field):
            raise ValueError(f"{path} needs the field {field!r}; add it")
    for field in ("files", "include", "without"):
        if not all(isinstance(item, str) for item in said.get(field, ())):
            raise ValueError(f"{path}: {field} must be a list of texts")


def _located(path: Path, error: ValueError) -> ValueError:
    return error if str(error).startswith(str(path)) else ValueError(f"{path}: {error}")


# --- the spec -------------------------------------------------------------------------------------------------------


def _spec(path: Path, said: Mapping[str, Any]) -> Unit:
    latency = latency_of(path, said)
    try:
        return _built(path, said, latency)
    except ValueError as error:
        raise _located(path, error) from None


def _built(path: Path, said: Mapping[str, Any], latency: int | None) -> Unit:
    named = said["unit"]
    stages = 0 if latency == 0 else MAX_STAGES
    in_table = {"name": "unit", "stages": stages} if stages else {"name": "unit"}
    if isinstance(named, str):
        base = unitfile.load(path.parent / named) if named.endswith(".toml") else unit(named)
    else:
        base = unitfile.build(in_table | named, f"{path}: unit")
    handshake = said.get("handshake", {})
    check_handshake(path, handshake, latency, "enable" in said)
    if base.has_state and not {"in_valid", "start"} & {*handshake}:
        raise ValueError(
            f"{path}: a unit with state needs a signal for clocks with an operation; give handshake.in_valid"
        )
    if base.has_state and latency is None:
        raise ValueError(f"{path}: the latency of a unit with state cannot be measured; give latency")
    if given := [*non_defaults(base)]:
        raise ValueError(f"{path}: unit: {given[0]} given; leave it out: [reset], [enable] and [handshake] state it")
    name = f"check_{keys.identifier(path, 'top', said['top'])}"
    if "result" in said:
        return _narrowed(path, name, base, said["result"], stages)
    return dataclasses.replace(base, name=name, stages=stages)  # type: ignore[call-arg]


def _narrowed(path: Path, name: str, base: Unit, said: Mapping[str, Any], stages: int) -> Unit:
    keys.check_known(path, "result", said, ("format", "rounding", "overflow"))
    summed = stateless_sum_of(base)
    if summed is None:
        raise ValueError(f"{path}: [result] narrows the sum of an fma or a dot; unit is a {base.kind}")
    target = format(said.get("format", "e4m3"))
    policy = cast_policy(target, said.get("rounding"), said.get("overflow", "saturate"), False, False)
    return Narrowed(name, dataclasses.replace(summed, name=name, stages=0), target, policy, stages)


def _exact(path: Path, spec: Unit, said: Mapping[str, Any]) -> Exact:
    fields = [field.name for field in dataclasses.fields(Exact)]
    keys.check_known(path, "exact", said, fields)
    summed = sum_of(spec)
    result = None if summed is None else summed.engine.output
    if result is None or not (result.has_inf and result.subnormals):
        raise ValueError(f"{path}: [exact] is the sum of an fma or a dot in a format such as fp32; give such a unit")
    if missing := [name for name in ("significand", "exponent") if name not in said]:
        raise ValueError(f"{path}: exact.{missing[0]} is not given; give the port")
    offset = said.get("offset", 0)
    if not isinstance(offset, int) or isinstance(offset, bool):
        raise ValueError(f"{path}: exact.offset = {offset!r} given; give an integer")
    parts = {name: keys.text(path, f"exact.{name}", value) for name, value in said.items() if name != "offset"}
    return Exact(parts.pop("significand"), parts.pop("exponent"), **parts, offset=offset)


def _code(path: Path, spec: Unit, name: str, value: object) -> int:
    """Return the constant code that the table `[held]` gives to an input port."""
    ports = {port.name: port for port in spec.inputs}
    keys.check_known(path, "held", [name], ports)
    port = ports[name]
    if isinstance(value, float) and port.formats:
        code = encode([value], port.formats[0])
        if not np.array_equal(decode_to(code, port.formats[0], np.float64), [value], equal_nan=True):
            raise ValueError(
                f"{path}: held.{name} = {value!r} given, which {port.formats[0].name} has not; give another"
            )
        return int(code[0])
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << port.width:
        raise ValueError(f"{path}: held.{name} = {value!r} given; give {_forms(port)}")
    return value


def _forms(port: Port) -> str:
    bits = f"bits from 0 to {(1 << port.width) - 1:#x}"
    return f"a number such as 1.0, or {bits}" if port.formats else bits
