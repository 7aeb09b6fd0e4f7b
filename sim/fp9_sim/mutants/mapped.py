"""Mutants of a unit's mapped netlist: nets stuck at 0 or 1, and pairs of exchanged nets.

A stuck net models a manufacturing defect, and two exchanged nets model a wrong connection.

    stuck at v:  net = select == i ? v   : output of its cell
    exchanged:   net = select == i ? output of the other net's cell : output of its cell
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np

from fp9.units import Unit
from fp9_rtl.synthesis.libraries import LIBRARIES, Library, library
from fp9_rtl.synthesis.mapping import cell_options, copy_liberty
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.mutants.chosen import Bit, Choice, cell, simple_gates
from fp9_sim.mutants.draw import READ, TO_JSON, Mutant, MutantSet
from fp9_sim.netlists.gates import REGISTER, GateNetlist

STUCK, SWAPPED = "stuck", "swapped"

_MAP = (
    READ
    + """\
techmap
opt -full -nodffe -nosdff
read_liberty -lib library.lib
abc {cells}
opt_clean -purge
write_json mapped.json
"""
)
_TO_GATES = (
    """\
read_liberty -ignore_miss_func library.lib
read_json changed.json
hierarchy -top {name}
flatten
"""
    + TO_JSON
)

Change = tuple[str, tuple[tuple[Bit, Bit], ...]]


def cells() -> Library:
    """Return the cell library for the technology mapping of circuits. Raises MissingTool if it is not installed."""
    return library(next(iter(LIBRARIES)))


def draw(unit: Unit, text: str, level: str, count: int, seeds: tuple[int, ...]) -> Iterator[MutantSet]:
    """Yield, for each seed, one set of up to `count` random mutants of the circuit after technology mapping."""
    mapped = _mapped(unit, text)
    for seed in seeds:
        module = json.loads(mapped)["modules"][unit.name]
        # The level is "stuck" for stuck nets, or "swapped" for exchanged nets.
        changes = _DRAWN[level](_Nets(module), count, np.random.default_rng(seed))
        mutants = tuple(Mutant(level, seed, i, name) for i, (name, _) in enumerate(changes, start=1))
        _insert(module, changes)
        yield MutantSet(mutants, _in_gates(unit, module))


@functools.lru_cache(maxsize=1)
def _mapped(unit: Unit, text: str) -> str:
    with tempfile.TemporaryDirectory(prefix="fp9-mutants-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(text)
        copy_liberty(cells(), folder)
        run_yosys(_MAP.format(name=unit.name, cells=cell_options(cells())), folder)
        return (folder / "mapped.json").read_text()


def _in_gates(unit: Unit, module: dict[str, Any]) -> GateNetlist:
    return simple_gates(unit, module, _TO_GATES, lambda folder: copy_liberty(cells(), folder))


# --- drawing ----------------------------------------------------------------------------------------------------------


class _Nets:
    """The nets that combinational cells drive, and each net's logic depth, counted in cells."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        drivers: dict[Bit, str] = {}
        read: dict[str, set[Bit]] = {}
        for name, placed in module["cells"].items():
            if placed["type"] != REGISTER:
                pins: dict[str, set[Bit]] = {"input": set(), "output": set()}
                for pin, (bit,) in placed["connections"].items():
                    pins[placed["port_directions"][pin]].add(bit)
                drivers |= dict.fromkeys(pins["output"], name)
                read[name] = pins["input"]
        self.driver = {bit: f"{module['cells'][name]['type']} {name}" for bit, name in drivers.items()}
        before = {name: {drivers[bit] for bit in bits if bit in drivers} for name, bits in read.items()}
        depth: dict[str, int] = {}
        for name in TopologicalSorter(before).static_order():
            depth[name] = 1 + max((depth[other] for other in before[name]), default=0)
        self.depth = {bit: depth[name] for bit, name in drivers.items()}


def _stuck(nets: _Nets, count: int, rng: np.random.Generator) -> list[Change]:
    sites = [(bit, value) for bit in nets.driver for value in "01"]
    drawn = rng.permutation(len(sites))[:count]
    return [(f"stuck at {value}: {nets.driver[bit]}", ((bit, value),)) for bit, value in (sites[i] for i in drawn)]


def _swapped(nets: _Nets, count: int, rng: np.random.Generator) -> list[Change]:
    # Exchanging two nets of equal logic depth never creates a loop.
    level: dict[int, list[Bit]] = defaultdict(list)
    for bit, depth in nets.depth.items():
        level[depth].append(bit)
    pairs: dict[tuple[Bit, Bit], None] = {}
    for first in rng.permutation(list(nets.driver)).tolist():
        others = [bit for bit in level[nets.depth[first]] if bit != first]
        if others and len(pairs) < count:
            pairs[tuple(sorted((first, others[rng.integers(len(others))])))] = None
    return [(f"exchanged: {nets.driver[a]} and {nets.driver[b]}", ((a, b), (b, a))) for a, b in pairs]


_DRAWN = {STUCK: _stuck, SWAPPED: _swapped}
LEVELS = tuple(_DRAWN)


# --- inserting --------------------------------------------------------------------------------------------------------


def _insert(module: dict[str, Any], changes: list[Change]) -> None:
    choice = Choice(module)
    changed = dict.fromkeys(bit for _, nets in changes for bit, _ in nets)
    given: dict[Bit, Bit] = dict(zip(changed, choice.nets(len(changed)), strict=True))
    for driver in module["cells"].values():
        for pin, direction in driver["port_directions"].items():
            if direction == "output":
                driver["connections"][pin] = [given.get(bit, bit) for bit in driver["connections"][pin]]
    shown = dict(given)
    for number, (_, nets) in enumerate(changes, start=1):
        chosen = choice.chosen(number)
        for bit, instead in nets:
            (shown[bit],) = choice.instead(f"{bit}_in_{number}", chosen, [shown[bit]], [given.get(instead, instead)])
    for bit, last in shown.items():
        module["cells"][f"{bit}_at_last"] = cell("$_OR_", {"A": [last], "B": ["0"], "Y": [bit]})
