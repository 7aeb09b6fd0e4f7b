"""Measure area and delay of units in standard cells, without wires, power and placement."""

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
from fp9_rtl.synthesis.circuit import unit_circuit
from fp9_rtl.synthesis.libraries import Library, find_library
from fp9_rtl.synthesis.mapping import (
    MAP,
    MAPPED,
    MAPPINGS,
    Mapped,
    cell_options,
    delay_tool,
    map_prepared,
    prepare,
    prepare_script,
    shuffle,
)
from fp9_rtl.synthesis.records import NOTE, Estimate, Ratio, RepeatedRatio, Repeats, Synthesis, ratios
from fp9_rtl.synthesis.sta import cache_key
from fp9_rtl.tools.cache import cache_folder, load, store
from fp9_rtl.tools.yosys import yosys_version

Progress = Callable[[str, int, int], None]
"""Function called after each step with its name, the number of finished steps, and the total."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


def _check(mappings: Sequence[str], top: str, clock: str) -> None:
    if not mappings or not set(mappings) <= set(MAPPINGS):
        raise ValueError(f"mappings {', '.join(mappings) or 'none'} given; choose from {', '.join(MAPPINGS)}")
    for what, name in (("top module", top), ("clock port", clock)):
        if not _IDENTIFIER.fullmatch(name):
            raise ValueError(f"{what} {name!r} given; give a plain Verilog name")


def synthesise(
    verilog: str,
    top: str,
    *,
    library: str | Library = "osu018",
    mappings: Sequence[str] = MAPPED,
    clock: str = "clk",  # clock port of a module with flip-flops
    order: int = 0,  # seed of the shuffle of the netlist's cells, or 0 for the original order
    share: bool = True,  # let Yosys use one operator for several operations
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """Map module `top` of a Verilog text to a cell library, and measure area and delay."""
    _check(mappings, top, clock)
    cells = find_library(library)
    blank = Synthesis(
        top=top,
        library=cells.name,
        library_sha256=cells.sha256,
        verilog_sha256=hashlib.sha256(verilog.encode()).hexdigest(),
        yosys=yosys_version(),
        delay_by=delay_tool(),
        recipe=_recipe(top, mappings, cells, share),
        estimates=(),
        order=order,
    )
    folder = cache or cache_folder()
    figures = [f.name for f in dataclasses.fields(Estimate)]
    request = {**blank.to_dict(), "clock": clock, "figures": figures, **cache_key(verilog)}
    kept = load(folder, request)
    if kept is not None:
        if progress:
            progress(f"{top}: measured before", _steps(mappings), _steps(mappings))
        return Synthesis.from_dict(kept)
    result = dataclasses.replace(
        blank, estimates=_measure(verilog, top, cells, mappings, clock, order, share, progress)
    )
    store(folder, request, result.to_dict())
    return result


def synthesise_unit(
    unit: Unit,
    *,
    library: str | Library = "osu018",
    mappings: Sequence[str] = MAPPED,
    order: int = 0,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """Measure the area and delay of a unit, from the flat Verilog of its circuit."""
    return synthesise(
        unit_circuit(unit),
        unit.name,
        library=library,
        mappings=mappings,
        order=order,
        cache=cache,
        progress=progress,
    )


def repeated(
    unit: Unit,
    times: int,
    *,
    library: str | Library = "osu018",
    mappings: Sequence[str] = MAPPED,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Repeats, ...]:
    """Measure a unit with the original order of the cells and `times` - 1 shuffled orders."""
    if times < 2:
        raise ValueError(f"{times} orders given; give 2 or more")
    measured = []
    for order in range(times):
        measured.append(synthesise_unit(unit, library=library, mappings=mappings, order=order, cache=cache))
        if progress:
            progress(f"{unit.name}: order {order + 1}", order + 1, times)
    return tuple(Repeats.of(mapping, measured) for mapping in mappings)


def compare(
    unit: Unit,
    other: Unit,
    *,
    library: str | Library = "osu018",
    mappings: Sequence[str] = MAPPED,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Ratio, ...]:
    """Synthesise two units, and return the area and delay ratios of `unit` to `other`.

    The result has one `Ratio` for each technology mapping, such as `area-optimised`.
    """
    measured, reference = (
        synthesise_unit(u, library=library, mappings=mappings, cache=cache, progress=progress) for u in (unit, other)
    )
    return ratios(unit, measured, other, reference)


def repeated_side_by_side(
    units: Sequence[Unit],
    reference: Unit | None,
    times: int,
    libraries: Sequence[str | Library],
    progress: Progress | None = None,
) -> tuple[list[Repeats], list[RepeatedRatio]]:
    """Synthesise each unit in each library, with `times` different orders of the cells.

    Return the results, and the ratios of the units' median areas and delays to the medians of `reference`.
    """
    measured: list[Repeats] = []
    medians: list[RepeatedRatio] = []
    for cells in libraries:
        others = repeated(reference, times, library=cells, progress=progress) if reference else ()
        for unit in units:
            found = repeated(unit, times, library=cells, progress=progress)
            measured += found
            medians += [RepeatedRatio.of(one, other) for one, other in zip(found, others, strict=False)]
        measured += others
    return measured, medians


def _recipe(top: str, mappings: Sequence[str], library: Library, share: bool) -> str:
    scripts = [f"# {name}\n{script}" for name in mappings for script in MAPPINGS[name]]
    prepared = prepare_script(top, library, share)
    mapped = MAP.format(cells=cell_options(library, "../"))
    return "\n".join([prepared, mapped, "# map.abc, the smallest result of each mapping counts:", *scripts])


def _steps(mappings: Sequence[str]) -> int:
    return 1 + sum(len(MAPPINGS[name]) for name in mappings)


def _measure(
    verilog: str,
    top: str,
    library: Library,
    mappings: Sequence[str],
    clock: str,
    order: int,
    share: bool,
    progress: Progress | None,
) -> tuple[Estimate, ...]:
    scripts = [script for name in mappings for script in MAPPINGS[name]]
    steps = _steps(mappings)
    with tempfile.TemporaryDirectory(prefix="fp9-synth-") as name:
        folder = Path(name)
        prepare(verilog, top, library, folder, share)
        if order:
            shuffle(folder, order)
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
        leakage_nw=math.fsum(count * library.leakage_nw[cell] for cell, count in best.cells.items()),
        delay_ns=best.delay_ns,
        script=best.script,
        script_areas_um2=areas,
        seconds=sum(result.seconds for result in results),
    )


def _area_um2(cells: dict[str, int], library: Library) -> float:
    return math.fsum(count * library.areas[cell] for cell, count in cells.items())


__all__ = [
    "NOTE",
    "Estimate",
    "Progress",
    "Ratio",
    "RepeatedRatio",
    "Repeats",
    "Synthesis",
    "compare",
    "repeated",
    "repeated_side_by_side",
    "synthesise",
    "synthesise_unit",
]
