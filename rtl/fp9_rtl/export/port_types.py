"""Choose SystemVerilog types for a unit's ports: enumerations and packed structures."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from fp9.units import FLAGS_PORT, Unit
from fp9_rtl.export.header import code_fields, is_flags
from fp9_rtl.export.text.types import Enum, Struct, Type


def identifier(name: str) -> str:
    """Return a name as an upper-case identifier, for example F143_BIAS_M3 for `f143(bias=-3)`."""
    return re.sub(r"\W+", "_", name.replace("-", "M")).strip("_").upper()


def port_types(unit: Unit) -> dict[str, Type]:
    types: dict[str, Type] = {}
    choosing: defaultdict[tuple[tuple[str, ...], int], list[str]] = defaultdict(list)
    for port in (*unit.inputs, *unit.outputs):
        if port.choices:
            choosing[port.choices, port.width].append(port.name)
        elif (fields := code_fields(port)) is not None:
            called = FLAGS_PORT.name if is_flags(port) else identifier(port.formats[0].name).lower()
            types[port.name] = Struct(f"{unit.name}_{called}_t", fields)
    for (choices, width), ports in choosing.items():
        stem = f"{unit.name}_{_shared(ports)}"
        labels = tuple(f"{stem}_{identifier(choice)}".upper() for choice in choices)
        types |= dict.fromkeys(ports, Enum(f"{stem}_t", width, choices, labels))
    return types


def _shared(ports: Sequence[str]) -> str:
    """Return the longest suffix of whole words that all port names share, or the first port name if none exists."""
    words = ports[0].split("_")
    ends = ("_".join(words[start:]) for start in range(len(words)))
    return next((end for end in ends if all(f"_{port}".endswith(f"_{end}") for port in ports)), ports[0])
