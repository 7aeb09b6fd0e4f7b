"""Glitches: how often nets change on their way from one clock's settled values to the next's, each cell with its delay.

Time goes in steps; the operations of a word run side by side. A cell's output changes once its function has said so for
as many steps as its delay: a shorter pulse is swallowed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fp9_sim.netlists.cell_kernels import STEPS, settle
from fp9_sim.netlists.cells import CellNetlist, History


def changes(
    netlist: CellNetlist, history: History, clocks: NDArray[np.int64], delays: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Changes of every net in some clocks of a history, glitches with them; `delays` are steps, 1 or more, by net.

    Raises ValueError where a circuit does not settle.
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
