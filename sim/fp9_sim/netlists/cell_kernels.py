"""Numba kernels that simulate netlists of standard cells, in one file so that they share one Numba cache."""

from __future__ import annotations

import numpy as np

from fp9.kernels import kernel

STEPS = 1 << 14


@kernel
def run(logic, registers, history):
    """Write all net values into `history`, shape (clocks, nets, words). Registers start at 0."""
    leaves = np.zeros(64, dtype=np.uint64)
    for clock in range(history.shape[0]):
        for w in range(history.shape[2]):
            values = history[clock, :, w]
            for i in range(logic.shape[0]):
                values[logic[i, 2]] = _value(logic[i], values, leaves)
            if clock + 1 < history.shape[0]:
                for i in range(registers.shape[0]):
                    history[clock + 1, registers[i, 2], w] = _value(registers[i], values, leaves)


@kernel
def _value(row, values, leaves):
    # Each input selects one half of the truth table, until one entry is left.
    table, inputs = row[0], np.int64(row[1])
    size = 1 << inputs
    for i in range(size):
        leaves[i] = np.uint64(0) - ((table >> np.uint64(i)) & np.uint64(1))
    for place in range(inputs - 1, -1, -1):
        chosen = values[row[3 + place]]
        size >>= 1
        for i in range(size):
            leaves[i] = leaves[2 * i] ^ ((leaves[2 * i] ^ leaves[2 * i + 1]) & chosen)
    return leaves[0]


@kernel
def settle(rows, delays, values, counts):
    """Simulate time steps until no net changes, and return False if nets still change after `STEPS` steps."""
    deepest = delays.max()
    differed = np.zeros((rows.shape[0], deepest), dtype=np.uint64)
    fired = np.zeros(rows.shape[0], dtype=np.uint64)
    leaves = np.zeros(64, dtype=np.uint64)
    for step in range(STEPS):
        busy = np.uint64(0)
        for i in range(rows.shape[0]):
            net = rows[i, 2]
            delay = delays[net]
            wants = _value(rows[i], values, leaves) ^ values[net]
            busy |= wants
            differed[i, step % delay] = wants
            for back in range(delay):
                wants &= differed[i, back]
            fired[i] = wants
        if not busy:
            return True
        for i in range(rows.shape[0]):
            if fired[i]:
                net = rows[i, 2]
                values[net] ^= fired[i]
                for back in range(delays[net]):
                    differed[i, back] &= ~fired[i]
                bits = fired[i]
                while bits:
                    bits &= bits - np.uint64(1)
                    counts[net] += 1
    return False
