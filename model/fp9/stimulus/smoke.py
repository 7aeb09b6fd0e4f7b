"""The smoke suite: some hundreds of the corner operations, by the classes and the bit patterns that they meet.

Operations fall into classes by their choices, their flags and the upper bits of their result. Candidates are drawn from
all classes alike; of each handful the one is taken whose pairs of bits, over all ports, stand in the combinations of
values seen least so far (pairwise coverage). No circuit is looked at.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fp9.stimulus.chunks import GROUP, last_groups
from fp9.stimulus.columns import Inputs
from fp9.units import Mac, Unit

SMOKE_COUNT = 960
_HANDFUL = 16
_FADING = 0.5
"""Factor by which a combination counts less each time that it is seen."""
_CLASS_BITS = 9
"""Upper bits of an output that tell classes apart: sign and exponent of FP32, all of an 8-bit code."""


def smoke(unit: Unit, corner: Inputs) -> Inputs:
    """At most `SMOKE_COUNT` operations out of a corner suite, in its order; sequences of a `mac` stay together."""
    span, always = 1, 0
    if isinstance(unit, Mac):
        span, always = (GROUP, last_groups(unit)) if unit.chunk_steps else (2, 0)
    outputs = unit.evaluate(corner)
    columns = {**corner, **{f"{name} out": values for name, values in outputs.items()}}
    widths = {port.name: port.width for port in unit.inputs}
    widths |= {f"{port.name} out": port.width for port in unit.outputs}
    bits = np.concatenate([_bits(columns[name], width) for name, width in widths.items()], axis=1)
    selects = [columns[port.name].astype(np.int64) for port in unit.inputs if port.choices]
    uppers = [outputs[p.name].astype(np.int64) >> max(0, p.width - _CLASS_BITS) for p in unit.outputs]
    classes = np.stack([*selects, *uppers], axis=1)
    groups = len(bits) // span
    chosen = _choose(bits.reshape(groups, -1), classes.reshape(groups, -1), SMOKE_COUNT // span - always)
    chosen = np.union1d(chosen, np.arange(groups - always, groups))
    indices = (np.sort(chosen)[:, None] * span + np.arange(span)).reshape(-1)
    return {name: column[indices] for name, column in corner.items()}


def _bits(column: NDArray[np.unsignedinteger], width: int) -> NDArray[np.uint8]:
    wide = column.astype(np.uint64)[:, None] >> np.arange(width, dtype=np.uint64)
    return (wide & np.uint64(1)).astype(np.uint8)


def _choose(bits: NDArray[np.uint8], classes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Indices of `count` rows: the best of each handful, drawn from the classes in turn."""
    if len(bits) <= count:
        return np.arange(len(bits))
    rng = np.random.default_rng(0)
    _, which = np.unique(classes, axis=0, return_inverse=True)
    order = rng.permutation(len(bits))
    order = order[np.argsort(which[order], kind="stable")]
    sizes = np.bincount(which)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    worth = np.ones((2 * bits.shape[1], 2 * bits.shape[1]), dtype=np.float32)
    chosen = np.zeros(len(bits), dtype=np.bool_)
    while chosen.sum() < count:
        drawn = rng.integers(0, len(sizes), _HANDFUL)
        rows = order[starts[drawn] + rng.integers(0, sizes[drawn])]
        rows = rows[~chosen[rows]]
        if len(rows):
            chosen[rows[_take_best(bits[rows], worth)]] = True
    return np.flatnonzero(chosen)


@njit(cache=True)
def _take_best(rows, worth):
    """The row whose pairs are worth most; they are worth less afterwards. Literal 2 i + v is bit i with value v."""
    literals = 2 * np.arange(rows.shape[1]) + rows
    best, most = 0, -1.0
    for candidate in range(len(rows)):
        total = 0.0
        for first in literals[candidate]:
            for second in literals[candidate]:
                total += worth[first, second]
        if total > most:
            best, most = candidate, total
    for first in literals[best]:
        for second in literals[best]:
            worth[first, second] *= _FADING
    return best
