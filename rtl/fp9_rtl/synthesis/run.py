"""Area and delay of a unit in standard cells, for comparing units side by side: no wires, no power, no placement."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from fp9.units import Unit
from fp9_rtl.export.verilog import verilog as unit_verilog
from fp9_rtl.synthesis.liberty import Library
from fp9_rtl.synthesis.liberty import library as find_library
from fp9_rtl.synthesis.mapping import MAP, MAPPINGS, PREPARE, Mapped, delay_tool, map_prepared, prepare
from fp9_rtl.synthesis.records import NOTE, Estimate, Ratio, Synthesis, ratios
from fp9_rtl.tools.cache import cache_folder, load, store
from fp9_rtl.tools.yosys import yosys_version

Progress = Callable[[str, int, int], None]
"""Called with what was finished, the steps done and the steps in all."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


def synthesise(
    verilog: str,
    top: str,
    *,
    library: str = "osu018",
    mappings: Sequence[str] = ("A", "B"),
    clock: str = "clk",
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """Map module `top` of a Verilog text to a library by each mapping; the same input gives the same figures.

    `clock` is the clock port of a unit with flip-flops. `cache` is the folder that keeps results, by default
    `cache_folder()`. Raises ValueError for Verilog or names that do not fit, MissingTool for a missing library or
    Yosys, OSError when the cache cannot be written.
    """
    if not mappings or not set(mappings) <= set(MAPPINGS):
        raise ValueError(f"mappings {', '.join(mappings) or 'none'} given; choose from {', '.join(MAPPINGS)}")
    for what, name in (("top module", top), ("clock port", clock)):
        if not _IDENTIFIER.fullmatch(name):
            raise ValueError(f"{what} {name!r} given; give a plain Verilog name")
    cells = find_library(library)
    blank = Synthesis(
        top=top,
        library=library,
        library_sha256=cells.sha256,
        verilog_sha256=hashlib.sha256(verilog.encode()).hexdigest(),
        yosys=yosys_version(),
        delay_by=delay_tool(),
        recipe=_recipe(top, mappings),
        estimates=(),
    )
    folder = cache or cache_folder()
    request = {**blank.to_dict(), "clock": clock, "figures": [f.name for f in dataclasses.fields(Estimate)]}
    kept = load(folder, request)
    if kept is not None:
        if progress:
            progress(f"{top}: measured before", _steps(mappings), _steps(mappings))
        return Synthesis.from_dict(kept)
    result = dataclasses.replace(blank, estimates=_measure(verilog, top, cells, mappings, clock, progress))
    store(folder, request, result.to_dict())
    return result


def synthesise_unit(
    unit: Unit,
    *,
    library: str = "osu018",
    mappings: Sequence[str] = ("A", "B"),
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """Measure the Verilog that is generated from a unit spec; arguments and errors as in `synthesise`."""
    return synthesise(unit_verilog(unit), unit.name, library=library, mappings=mappings, cache=cache, progress=progress)


def compare(
    unit: Unit,
    other: Unit,
    *,
    library: str = "osu018",
    mappings: Sequence[str] = ("A", "B"),
    cache: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Ratio, ...]:
    """Measure two units and give the ratios `unit` over `other`, one for each mapping."""
    measured, reference = (
        synthesise_unit(u, library=library, mappings=mappings, cache=cache, progress=progress) for u in (unit, other)
    )
    return ratios(unit, measured, other, reference)


def _recipe(top: str, mappings: Sequence[str]) -> str:
    """The commands that give these figures, as one text."""
    scripts = [f"# {name}\n{script}" for name in mappings for script in MAPPINGS[name]]
    return "\n".join([PREPARE.format(top=top), MAP, "# map.abc, the smallest result of each mapping counts:", *scripts])


def _steps(mappings: Sequence[str]) -> int:
    """Calls of Yosys that a measurement takes."""
    return 1 + sum(len(MAPPINGS[name]) for name in mappings)


def _measure(
    verilog: str, top: str, library: Library, mappings: Sequence[str], clock: str, progress: Progress | None
) -> tuple[Estimate, ...]:
    """Prepare once, then run every script of every mapping on as many cores as there are."""
    scripts = [script for name in mappings for script in MAPPINGS[name]]
    steps = _steps(mappings)
    with tempfile.TemporaryDirectory(prefix="fp9-synth-") as name:
        folder = Path(name)
        prepare(verilog, top, library, folder)
        if progress:
            progress(f"{top}: flat netlist", 1, steps)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            tasks = [pool.submit(map_prepared, folder, script, top, library, clock) for script in scripts]
            for done, _ in enumerate(as_completed(tasks), 2):
                if progress:
                    progress(f"{top}: mappings", done, steps)
        by_script = dict(zip(scripts, (task.result() for task in tasks), strict=True))
    return tuple(_estimate(name, [by_script[s] for s in MAPPINGS[name]], library) for name in mappings)


def _estimate(mapping: str, results: Sequence[Mapped], library: Library) -> Estimate:
    """The figures of the smallest result, the first of equals."""
    areas = tuple(_area_um2(result.cells, library) for result in results)
    best = results[areas.index(min(areas))]
    held = {cell: count for cell, count in best.cells.items() if cell in library.sequential}
    area, flip_flop_area = min(areas), _area_um2(held, library)
    return Estimate(
        mapping=mapping,
        area_um2=area,
        logic_um2=area - flip_flop_area,
        flip_flop_um2=flip_flop_area,
        nand2=area / library.nand2_um2,
        cells=sum(best.cells.values()),
        flip_flops=sum(held.values()),
        delay_ns=best.delay_ns,
        script=best.script,
        script_areas_um2=areas,
        seconds=sum(result.seconds for result in results),
    )


def _area_um2(cells: dict[str, int], library: Library) -> float:
    return math.fsum(count * library.areas[cell] for cell, count in cells.items())


__all__ = ["NOTE", "Estimate", "Progress", "Ratio", "Synthesis", "compare", "synthesise", "synthesise_unit"]
