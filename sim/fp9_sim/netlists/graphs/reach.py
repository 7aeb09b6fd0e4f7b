"""Find inputs for which two circuits differ at a net of high logic depth.

At nets of high logic depth, two circuits often agree for all operands except special operands, such as infinities. A
proof can treat special operands separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp9_sim.netlists.gates import WORD, Planes, Row

_FAR = 0.5
"""Smallest level at which a difference counts as far, as a fraction of its highest level."""


@dataclass(frozen=True)
class Far:
    """The simulated input pattern for which two circuits differ at the net of highest logic depth."""

    word: int
    place: int
    depth: float
    patterns: NDArray[np.uint64]

    def flipped(self, patterns: Planes) -> Planes:
        """Return bit planes for copies of the input pattern: in copy i, input bit i is inverted."""
        bits = patterns[:, self.word] >> np.uint64(self.place) & np.uint64(1)
        planes = np.repeat(~np.uint64(0) * bits[:, None], -(-len(bits) // WORD), axis=1)
        places = np.arange(len(bits))
        planes[places, places // WORD] ^= np.uint64(1) << (places % WORD).astype(np.uint64)
        flipped: Planes = planes
        return flipped

    def flips_that_stay(self, differs: Planes, depth: NDArray[np.int64]) -> set[int]:
        reached = np.bitwise_or.reduce(differs[depth >= self.depth], axis=0)
        return {WORD * word + i for word, bits in enumerate(reached.tolist()) for i in range(WORD) if bits >> i & 1}


def depths(gates: Sequence[Row], nets: int) -> NDArray[np.int64]:
    """Return the logic level of every net, shape (nets,)."""
    found = [0] * nets
    for _, a, b, s, y in gates:
        found[y] = 1 + max(found[a], found[b], found[s])
    return np.array(found)


def furthest(differs: Planes, depth: NDArray[np.int64]) -> Far | None:
    reached = np.where(differs.any(axis=1), depth, 0)
    if not (most := int(reached.max())):
        return None
    deepest = differs[int(reached.argmax())]
    word = int(np.flatnonzero(deepest)[0])
    bits = int(deepest[word])
    patterns = np.bitwise_or.reduce(differs[depth >= _FAR * most], axis=0)
    return Far(word, (bits & -bits).bit_length() - 1, _FAR * most, patterns)


def in_common(patterns: Planes, chosen: NDArray[np.uint64]) -> dict[int, int]:
    zero, one = ((np.bitwise_or.reduce(planes & chosen, axis=1) == 0) for planes in (patterns, ~patterns))
    return {int(place): int(one[place]) for place in np.flatnonzero(zero | one)}
