"""Measure the area of each submodule of a unit, with module boundaries kept in synthesis.

Flat synthesis can share gates across module boundaries, so the flat area differs from the sum of submodule areas.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import rtlil
from rich.table import Table

from fp9.units import Unit
from fp9_rtl.components import build
from fp9_rtl.synthesis.libraries import Library, find_library
from fp9_rtl.synthesis.mapping import MAPPINGS, cell_options, copy_liberty
from fp9_rtl.synthesis.records import NOTE
from fp9_rtl.synthesis.report import um2
from fp9_rtl.synthesis.run import synthesise_unit
from fp9_rtl.tools.cache import cache_folder, load, store
from fp9_rtl.tools.yosys import run_yosys, yosys_version

OWN = "between them"

KEEP_BOUNDARIES = """\
read_rtlil unit.il
hierarchy -top {top}
setattr -mod -set keep_hierarchy 1 {kept}
synth -flatten -top {top}
dfflibmap {cells}
opt_clean -purge
write_rtlil prepared.il
"""

_MAP = """\
read_rtlil prepared.il
abc {cells} -script map.abc
opt_clean -purge
tee -q -o statistics.json stat -json
"""

_MODULE = re.compile(r"^module \\(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Breakdown:
    """Areas of a unit's submodules in um2, in datapath order."""

    top: str
    library: str
    mapping: str
    submodules: tuple[tuple[str, float], ...]
    flat_um2: float  # same unit and mapping, without module boundaries

    @property
    def total_um2(self) -> float:
        return math.fsum(area for _, area in self.submodules)

    @property
    def over_flat(self) -> float:
        return self.total_um2 / self.flat_um2


def breakdown(
    unit: Unit, *, library: str | Library = "osu018", mapping: str = "area-optimised", cache: Path | None = None
) -> Breakdown:
    """Return the area of each submodule of a unit, and of the flat netlist, for one mapping.

    Each datapath step is a submodule. In a pipelined unit, the pipeline and the accumulator are also submodules.
    """
    if mapping not in MAPPINGS:
        raise ValueError(f"mapping {mapping!r} given; choose from {', '.join(MAPPINGS)}")
    cells = find_library(library)
    flat = synthesise_unit(unit, library=cells, cache=cache).estimate(mapping)
    text = _text(unit)
    request = {
        "rtlil": hashlib.sha256(text.encode()).hexdigest(),
        "stages": unit.stages,
        "recipe": [KEEP_BOUNDARIES, _MAP, flat.script, cell_options(cells)],
        "library": cells.sha256,
        "yosys": yosys_version(),
    }
    folder = cache or cache_folder()
    kept = load(folder, request)
    areas: dict[str, float] = kept["areas"] if kept else _measure(text, unit, cells, flat.script)
    if kept is None:
        store(folder, request, {"areas": areas})
    return Breakdown(unit.name, cells.name, mapping, tuple(areas.items()), flat.area_um2)


@functools.lru_cache(maxsize=4)
def _text(unit: Unit) -> str:
    text: str = rtlil.convert(build(unit), name=unit.name, emit_src=False)
    return text


def _measure(text: str, unit: Unit, library: Library, script: str) -> dict[str, float]:
    kept = boundaries(text, unit)
    with tempfile.TemporaryDirectory(prefix="fp9-area-") as name:
        folder = Path(name)
        (folder / "unit.il").write_text(text)
        copy_liberty(library, folder)
        run_yosys(KEEP_BOUNDARIES.format(top=unit.name, kept=" ".join(kept), cells=cell_options(library)), folder)
        areas = _areas_by_module(folder, script, library)
    named: dict[str, float] = {}
    for module in (*kept, unit.name):
        # If a submodule and a port have the same name, Amaranth appends `$` and a number to the submodule's name.
        label = module.rpartition(".")[2].partition("$")[0] if module in kept else OWN
        named[label] = named.get(label, 0.0) + areas.get(module, 0.0)
    return {label: area for label, area in named.items() if area}


def boundaries(text: str, unit: Unit) -> list[str]:
    modules = [name for name in _MODULE.findall(text) if name != unit.name]
    depth = 2 if unit.stages else 1
    return [name for name in modules if name.removeprefix(f"{unit.name}.").count(".") < depth]


def _areas_by_module(folder: Path, script: str, library: Library) -> dict[str, float]:
    (folder / "map.abc").write_text(script + "\n")
    run_yosys(_MAP.format(cells=cell_options(library)), folder)
    modules = json.loads((folder / "statistics.json").read_text())["modules"]
    return {
        name.removeprefix("\\"): math.fsum(
            count * library.areas[cell] for cell, count in module["num_cells_by_type"].items() if cell in library.areas
        )
        for name, module in modules.items()
    }


def table(found: Sequence[Breakdown]) -> Table:
    shown = Table(title="Area by submodule", caption=NOTE)
    for heading in ("unit", "submodule", "library", "mapping"):
        shown.add_column(heading)
    for heading in ("area um2", "share"):
        shown.add_column(heading, justify="right")
    for result in found:
        sums = ((f"all, {len(result.submodules)} apart", result.total_um2), ("flat", result.flat_um2))
        for name, area in (*result.submodules, *sums):
            words = (result.top, name, result.library, result.mapping)
            shown.add_row(*words, um2(area), f"{area / result.total_um2:.1%}")
    return shown


def as_record(result: Breakdown) -> dict[str, object]:
    return {**dataclasses.asdict(result), "total_um2": result.total_um2, "over_flat": round(result.over_flat, 4)}
