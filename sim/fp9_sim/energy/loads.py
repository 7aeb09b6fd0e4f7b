"""Compute the capacitive load and the transition times of each net of a netlist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp9_rtl.synthesis.libraries import Library
from fp9_rtl.synthesis.power import Arc, PowerLibrary
from fp9_sim.netlists.cells import CLOCK, CellNetlist, Placed

FALL, RISE = 0, 1

# Number of time steps in the mean delay of a netlist's cells.
_STEPS_OF_A_DELAY = 4


@dataclass(frozen=True)
class Loads:
    """Load capacitance of every net in fF, and an array (nets, 2) of fall and rise times in the library's time unit."""

    load_ff: NDArray[np.float64]
    transition: NDArray[np.float64]


def loads(netlist: CellNetlist, library: Library, power: PowerLibrary) -> Loads:
    """Return the load and the transition times of every net."""
    # The load includes the wire, the connected cell pins and the unit output. The slowest timing arc of a cell
    # determines the transition time of its output. The library's driver cell drives each input net, with a transition
    # time of 0 at its input. The clock is ideal, with a transition time of 0.
    load = np.zeros(netlist.nets)
    for placed in netlist.cells:
        for pin in (*placed.cell.inputs, *([placed.cell.clock] if placed.cell.clock else [])):
            load[placed.nets[pin]] += placed.cell.capacitance[pin] + power.wire_ff
    for nets in netlist.outputs.values():
        for net in nets:
            load[net] += library.load_ff + power.wire_ff
    times = np.zeros((netlist.nets, 2))
    driver = power.cell(library.driver)
    for name, nets in netlist.inputs.items():
        for net in nets if name != CLOCK else ():
            times[net] = _slowest(driver.transitions, next(iter(driver.outputs)), load[net], {})
    for placed in netlist.cells:
        for pin in placed.cell.outputs:
            if pin in placed.nets:
                net = placed.nets[pin]
                times[net] = _slowest(placed.cell.transitions, pin, load[net], _at_pins(placed, times))
    return Loads(load, times)


def _at_pins(placed: Placed, times: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    return {pin: times[net] for pin, net in placed.nets.items()}


def _slowest(arcs: Sequence[Arc], pin: str, load: float, given: dict[str, NDArray[np.float64]]) -> tuple[float, float]:
    slowest = [0.0, 0.0]
    for arc in arcs:
        if arc.pin == pin:
            at = [given[related] for related in arc.related if related in given]
            for edge, table in enumerate(arc.edges):
                if table is not None:
                    start = max((_start(arc, edge, times) for times in at), default=0.0)
                    slowest[edge] = max(slowest[edge], table.at(load, start))
    return slowest[FALL], slowest[RISE]


def _start(arc: Arc, edge: int, times: NDArray[np.float64]) -> float:
    if arc.sense == "positive_unate":
        return float(times[edge])
    return float(times[1 - edge]) if arc.sense == "negative_unate" else float(times.max())


def delays(netlist: CellNetlist, found: Loads) -> NDArray[np.int64]:
    """Return the delay of every net as an integer number of time steps (at least 1)."""
    exact = np.zeros(netlist.nets)
    for placed in netlist.cells:
        for pin in placed.cell.outputs:
            if pin in placed.nets:
                given = _at_pins(placed, found.transition)
                exact[placed.nets[pin]] = _mean_delay(placed.cell.delays, pin, cell_loads(placed, pin, found), given)
    mean = exact[exact > 0].mean() if (exact > 0).any() else 1.0
    # A time step is a fixed fraction of the mean delay of all nets.
    return np.maximum(1, np.rint(_STEPS_OF_A_DELAY * exact / mean).astype(np.int64))


def _mean_delay(arcs: Sequence[Arc], pin: str, load: float, given: dict[str, NDArray[np.float64]]) -> float:
    found = [
        table.at(load, float(given[related].max()))
        for arc in arcs
        for related in arc.related
        for table in arc.edges
        if arc.pin == pin and related in given and table is not None
    ]
    return max(0.0, sum(found) / len(found)) if found else 0.0


def cell_loads(placed: Placed, pin: str, found: Loads) -> float:
    return float(found.load_ff[placed.nets[pin]]) if pin in placed.nets else 0.0


__all__ = ["FALL", "RISE", "Loads", "cell_loads", "delays", "loads"]
