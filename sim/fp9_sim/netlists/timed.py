"""Glitches: changes of nets between the settled values of two clock cycles, with a delay for each cell.

Time advances in steps. The operations of a word are simulated side by side. A cell's output changes after its
function
has had the new value for as many steps as its delay. Shorter pulses are suppressed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fp9_sim.netlists.cell_kernels import STEPS, settle
from fp9_sim.netlists.cells import CellNetlist, History


def changes(
    netlist: CellNetlist, history: History, clocks: NDArray[np.int64], delays: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the changes of every net in some clock cycles of a history, including glitches.

    `delays` are steps by net, at least 1. Raises ValueError if a circuit does not settle.
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
