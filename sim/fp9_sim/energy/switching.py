"""What switching takes in a netlist of library cells, from what its nets do over given operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.units import Unit
from fp9_rtl.synthesis.libraries import Library
from fp9_rtl.synthesis.power import PowerLibrary
from fp9_sim.energy.events import shares, steps
from fp9_sim.energy.loads import Loads, cell_loads, loads
from fp9_sim.netlists.cells import CLOCK, CellNetlist, History, Placed, toggles
from fp9_sim.netlists.gates import WORD


@dataclass(frozen=True)
class Dynamic:
    """What switching takes, in fJ an operation: internal energy and charge of nets by cell, charge of input nets."""

    internal: Mapping[str, float]
    nets: Mapping[str, float]
    inputs: float
    clock: float
    toggles: float


def side_by_side(unit: Unit, operations: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], int]:
    """Operations as 64 sequences that follow each other, (clocks, 64); the clock from which they are counted.

    What is left over at the end is not counted. Each sequence begins with what fills the unit: a clock of reset and the
    last operations of the sequence before.
    """
    count = len(next(iter(operations.values())))
    if not count:
        raise ValueError(f"no operations of {unit.name} given; give 1 or more, best some thousands")
    first = unit.stages + 2
    length = max(1, count // WORD)
    index = (np.arange(-first, length)[:, None] + np.arange(WORD) * length) % count
    return {name: column[index] for name, column in operations.items()}, first


def dynamic(
    graph: CellNetlist, operations: Mapping[str, NDArray[Any]], first: int, library: Library, power: PowerLibrary
) -> Dynamic:
    """What sequences of operations take in a netlist, from clock `first` on."""
    history = graph.run(operations)
    counted = (len(history) - first) * history.shape[2] * WORD
    at = loads(graph, library, power)
    changes = toggles(history, first) / counted
    changes[graph.bits_from :] = 0  # inside registers: no net
    charge = changes * at.load_ff * power.volts**2 / 2
    given = [net for name, nets in graph.inputs.items() if name != CLOCK for net in nets]
    clock = sum(float(at.load_ff[net]) * power.volts**2 for net in graph.inputs.get(CLOCK, ()))
    return Dynamic(
        {p.name: _internal(p, history, first, at) / counted for p in graph.cells},
        {p.name: sum(float(charge[p.nets[pin]]) for pin in p.cell.outputs if pin in p.nets) for p in graph.cells},
        float(charge[given].sum()),
        clock,
        float(changes.sum()),
    )


def _internal(placed: Placed, history: History, first: int, at: Loads) -> float:
    """Internal energy of a cell over all counted clocks, in fJ."""
    taken: Counter[tuple[int, int]] = Counter()
    for step, count in zip(*steps(placed, history, first), strict=True):
        for number, edge, share in shares(placed.cell, int(step)):
            taken[number, edge] += share * int(count)  # type: ignore[assignment]
    total = 0.0
    for (number, edge), count in taken.items():
        arc = placed.cell.energies[number]
        table = arc.edges[edge]
        assert table is not None
        source = [placed.nets[pin] for pin in arc.related or (arc.pin,) if pin in placed.nets]
        time = max((float(at.transition[net, edge]) for net in source), default=0.0)
        total += count * table.at(cell_loads(placed, arc.pin, at), time)
    return total
