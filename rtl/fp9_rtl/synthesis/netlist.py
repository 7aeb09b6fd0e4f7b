"""Map a unit's circuit to a netlist of standard cells by Yosys and ABC."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil

from fp9.units import Unit
from fp9_rtl.components import build
from fp9_rtl.synthesis.breakdown import KEEP_BOUNDARIES, boundaries
from fp9_rtl.synthesis.circuit import unit_circuit
from fp9_rtl.synthesis.libraries import Library
from fp9_rtl.synthesis.mapping import (
    MAP,
    MAPPINGS,
    PREPARE,
    cell_options,
    copy_liberty,
    delay_tool,
    map_prepared,
    prepare,
)
from fp9_rtl.synthesis.sta import cache_key
from fp9_rtl.tools.cache import cache_folder, load, store
from fp9_rtl.tools.yosys import run_yosys, yosys_version

_MAP = """\
read_rtlil prepared.il
abc {cells} -script map.abc
opt_clean -purge
setattr -mod -unset keep_hierarchy
flatten
opt_clean -purge
write_json mapped.json
"""

_READ = """\
read_verilog mapped.v
write_json mapped.json
"""


@dataclass(frozen=True)
class Netlist:
    """A mapped netlist of library cells, as a Yosys JSON module and as Verilog text."""

    module: dict[str, Any]
    verilog: str
    delay_ns: float
    by_submodule: dict[str, Any] | None  # a second netlist, whose submodules are mapped separately


def netlist(
    unit: Unit,
    library: Library,
    *,
    mapping: str = "delay-balanced",
    by_submodule: bool = False,
    cache: Path | None = None,
) -> Netlist:
    """Synthesise a unit with each ABC script of the given `mapping`, and return the netlist with the smallest area.

    For the same mapping, the function `synthesise_unit` reports the area of the netlist that `netlist` returns.
    """
    if mapping not in MAPPINGS:
        raise ValueError(f"mapping {mapping!r} given; choose from {', '.join(MAPPINGS)}")
    circuit, hierarchy = unit_circuit(unit), rtlil.convert(build(unit), name=unit.name, emit_src=False)
    request = {
        "netlist": [hashlib.sha256(text.encode()).hexdigest() for text in (circuit, hierarchy if by_submodule else "")],
        "stages": unit.stages,
        "recipe": [PREPARE, MAP, _READ, KEEP_BOUNDARIES, _MAP, *MAPPINGS[mapping], cell_options(library)],
        "library": library.sha256,
        "tools": [yosys_version(), delay_tool()],
        **cache_key(circuit),
    }
    folder = cache or cache_folder()
    kept = load(folder, request)
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="fp9-netlist-") as name:
            kept = _flat(unit, circuit, library, MAPPINGS[mapping], Path(name) / "flat")
            apart = by_submodule and _apart(unit, hierarchy, library, kept["script"], Path(name) / "apart")
            kept["by_submodule"] = apart or None
        store(folder, request, kept)
    return Netlist(kept["module"], kept["verilog"], kept["delay_ns"], kept["by_submodule"])


def _flat(unit: Unit, circuit: str, library: Library, scripts: tuple[str, ...], folder: Path) -> dict[str, Any]:
    folder.mkdir()
    prepare(circuit, unit.name, library, folder)
    mapped = [map_prepared(folder, script, unit.name, library, "clk") for script in scripts]
    best = min(mapped, key=lambda m: math.fsum(count * library.areas[cell] for cell, count in m.cells.items()))
    run_yosys(_READ, best.folder)
    return {
        "module": _module(unit, best.folder),
        "verilog": (best.folder / "mapped.v").read_text(),
        "delay_ns": best.delay_ns,
        "script": best.script,
    }


def _apart(unit: Unit, hierarchy: str, library: Library, script: str, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    (folder / "unit.il").write_text(hierarchy)
    copy_liberty(library, folder)
    kept = " ".join(boundaries(hierarchy, unit))
    run_yosys(KEEP_BOUNDARIES.format(top=unit.name, kept=kept, cells=cell_options(library)), folder)
    (folder / "map.abc").write_text(script + "\n")
    run_yosys(_MAP.format(cells=cell_options(library)), folder)
    return _module(unit, folder)


def _module(unit: Unit, folder: Path) -> dict[str, Any]:
    module = json.loads((folder / "mapped.json").read_text())["modules"][unit.name]
    cells = {name: {"type": cell["type"], "connections": cell["connections"]} for name, cell in module["cells"].items()}
    ports = {name: {"direction": port["direction"], "bits": port["bits"]} for name, port in module["ports"].items()}
    return {"ports": ports, "cells": cells}
