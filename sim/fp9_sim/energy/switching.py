"""Compute the switching energy of a mapped netlist from the activity of its nets."""

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
from fp9_sim.energy.loads import FALL, RISE, Loads, cell_loads, delays, loads
from fp9_sim.netlists.cells import CLOCK, CellNetlist, History, Placed, toggles
from fp9_sim.netlists.gates import WORD
from fp9_sim.netlists.timed import changes as changes_in_time

# Clock cycles in which glitches are counted, with 64 parallel operations in each.
GLITCH_CLOCKS = 32


@dataclass(frozen=True)
class Dynamic:
    """Mean switching energy of one operation in fJ."""

    # Energy by cell name.
    internal: Mapping[str, float]
    nets: Mapping[str, float]
    glitches: Mapping[str, float]
    inputs: float
    clock: float
    # Signal changes from one clock cycle to the next.
    toggles: float
    # Signal changes that are reversed within a clock cycle.
    glitch_toggles: float


def side_by_side(unit: Unit, operations: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], int]:
    """Divide operations into 64 sequences of consecutive operations, which are simulated in parallel.

    Return an array (clock cycles, sequences) for each input port, and the first clock cycle that the measurement
    counts.
    """
    count = len(next(iter(operations.values())))
    if not count:
        raise ValueError(f"no operations of {unit.name} given; give 1 or more, best some thousands")
    if unit.extra_clocks:
        raise ValueError(
            f"{unit.name}: division=iterative given, and energy is measured with one operation per clock cycle; set "
            "division=array"
        )
    group = unit.group
    # The earlier clock cycles reset the unit and fill the pipeline.
    first = 1 + -(-(unit.latency + 1) // group) * group
    # Consecutive operations that produce one common result stay in the same sequence.
    length = max(1, count // WORD // group) * group
    index = (np.arange(-first, length)[:, None] + np.arange(WORD) * length) % count
    return {name: column[index] for name, column in operations.items()}, first


def dynamic(
    graph: CellNetlist, operations: Mapping[str, NDArray[Any]], first: int, library: Library, power: PowerLibrary
) -> Dynamic:
    """Return the mean switching energy per operation of a netlist, measured from clock cycle `first` on."""
    history = graph.run(operations)
    counted = (len(history) - first) * history.shape[2] * WORD
    at = loads(graph, library, power)
    changes = toggles(history, first) / counted
    extra = _glitches(graph, history, first, at)
    for nets in (changes, extra):
        nets[graph.bits_from :] = 0  # stored bits of registers are no nets
    charge = at.load_ff * power.volts**2 / 2
    settled, undone = changes * charge, extra * charge
    given = [net for name, nets in graph.inputs.items() if name != CLOCK for net in nets]
    pins = {p.name: _internal(p, history, first, at, counted) for p in graph.cells}
    inside = {p.name: _of_glitches(p, pins[p.name], changes, extra, at) for p in graph.cells}
    return Dynamic(
        {name: sum(taken.values()) for name, taken in pins.items()},
        {p.name: _driven(p, settled) for p in graph.cells},
        {p.name: inside[p.name] + _driven(p, undone) for p in graph.cells},
        float(settled[given].sum()),
        2 * sum(float(charge[net]) for net in graph.inputs.get(CLOCK, ())),
        float(changes.sum()),
        float(extra.sum()),
    )


def _driven(placed: Placed, by_net: NDArray[np.float64]) -> float:
    return sum(float(by_net[placed.nets[pin]]) for pin in placed.cell.outputs if pin in placed.nets)


def _glitches(graph: CellNetlist, history: History, first: int, at: Loads) -> NDArray[np.float64]:
    # Only evenly spaced clock cycles are simulated with glitches.
    clocks = np.unique(np.linspace(first, len(history) - 1, GLITCH_CLOCKS).astype(np.int64))
    settled = sum(toggles(history[clock - 1 : clock + 1], 1) for clock in clocks)
    timed = changes_in_time(graph, history, clocks, delays(graph, at))
    undone: NDArray[np.float64] = np.maximum(timed - settled, 0) / (len(clocks) * history.shape[2] * WORD)
    return undone


def _internal(placed: Placed, history: History, first: int, at: Loads, counted: int) -> dict[str, float]:
    taken: Counter[tuple[int, int]] = Counter()
    for step, count in zip(*steps(placed, history, first), strict=True):
        for number, edge, share in shares(placed.cell, int(step)):
            taken[number, edge] += share * int(count)  # type: ignore[assignment]
    by_pin: dict[str, float] = dict.fromkeys((*placed.cell.inputs, *placed.cell.outputs), 0.0)
    for (number, edge), count in taken.items():
        pin = placed.cell.energies[number].pin
        by_pin[pin] = by_pin.get(pin, 0.0) + count / counted * _energy(placed, number, edge, at)
    return by_pin


def _energy(placed: Placed, number: int, edge: int, at: Loads) -> float:
    arc = placed.cell.energies[number]
    table = arc.edges[edge]
    if table is None:
        return 0.0
    source = [placed.nets[pin] for pin in arc.related or (arc.pin,) if pin in placed.nets]
    time = max((float(at.transition[net, edge]) for net in source), default=0.0)
    return table.at(cell_loads(placed, arc.pin, at), time)


def _of_glitches(
    placed: Placed,
    taken: Mapping[str, float],
    changes: NDArray[np.float64],
    extra: NDArray[np.float64],
    at: Loads,
) -> float:
    # A glitch is assumed to dissipate as much energy as a settled change of the same pin or, without any, the mean
    # energy of the pin's timing arcs.
    total = 0.0
    for pin, energy in taken.items():
        net = placed.nets.get(pin, 0)
        if pin == placed.cell.clock or not extra[net]:
            continue
        arcs = [(n, edge) for n, arc in enumerate(placed.cell.energies) if arc.pin == pin for edge in (FALL, RISE)]
        if changes[net]:
            total += extra[net] * energy / changes[net]
        elif arcs:
            total += extra[net] * sum(_energy(placed, n, edge, at) for n, edge in arcs) / len(arcs)
    return float(total)
