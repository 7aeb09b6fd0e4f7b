"""Simulation of glitches: changes of nets within a clock cycle, before the nets settle.

A cell's output changes after the cell's new value has been stable for the cell's delay. Shorter pulses are suppressed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fp9_sim.netlists.cell_kernels import STEPS, settle
from fp9_sim.netlists.cells import CellNetlist, History


def changes(
    netlist: CellNetlist, history: History, clocks: NDArray[np.int64], delays: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how often every net changes in the given clock cycles, including glitches.

    `delays` holds the delay of each net in time steps, at least 1.
    """
    rows, _ = netlist.rows()
    counts = np.zeros(netlist.nets, dtype=np.int64)
    for clock in clocks:
        for word in range(history.shape[2]):
            values, after = history[clock - 1, :, word].copy(), history[clock, :, word]
            driven = np.zeros(netlist.nets, dtype=np.bool_)
            driven[rows[:, 2].astype(np.int64)] = True
            values[~driven] = after[~driven]
            if not settle(rows, delays, values, counts) or not np.array_equal(values, after):
                raise ValueError(f"the netlist did not settle in {STEPS} steps")
    return counts
