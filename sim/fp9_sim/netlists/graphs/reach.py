"""Search for inputs with which a difference between two circuits propagates far.

Most differences disappear after a few gates. A difference often reaches the last gates only for special operands, such
as infinities. The patterns for which a difference propagates far all have the same value in some input bits. In a
proof, the inputs for which a difference propagates far can be treated separately from all other inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp9_sim.netlists.gates import WORD, Planes, Row

_FAR = 0.5
"""A difference propagates far if its level is at least this fraction of the highest level of any difference."""


@dataclass(frozen=True)
class Far:
    """The simulated input pattern for which a difference between two circuits reaches the highest logic level.

    In the bit planes, `word` is the index of the pattern's 64-bit word, and `place` is the index of the bit in the
    word. `patterns` has a bit for each simulated pattern. A bit of `patterns` is 1 if the difference for the pattern
    reaches logic level `depth` or a higher level.
    """

    word: int
    place: int
    depth: float
    patterns: NDArray[np.uint64]

    def flipped(self, patterns: Planes) -> Planes:
        """For each input bit, return a copy of the input pattern with this bit inverted, as bit planes."""
        bits = patterns[:, self.word] >> np.uint64(self.place) & np.uint64(1)
        planes = np.repeat(~np.uint64(0) * bits[:, None], -(-len(bits) // WORD), axis=1)
        places = np.arange(len(bits))
        planes[places, places // WORD] ^= np.uint64(1) << (places % WORD).astype(np.uint64)
        flipped: Planes = planes
        return flipped

    def flips_that_stay(self, differs: Planes, depth: NDArray[np.int64]) -> set[int]:
        """Return the input bits whose inversion does not stop the difference from propagating far.

        For each input pattern from `flipped`, `differs` marks the nets with different values in the two circuits.
        `depth` holds the level of each net.
        """
        reached = np.bitwise_or.reduce(differs[depth >= self.depth], axis=0)
        return {WORD * word + i for word, bits in enumerate(reached.tolist()) for i in range(WORD) if bits >> i & 1}


def depths(gates: Sequence[Row], nets: int) -> NDArray[np.int64]:
    """Return the level of every net: the length of the longest path from an input, shape (nets,)."""
    found = [0] * nets
    for _, a, b, s, y in gates:
        found[y] = 1 + max(found[a], found[b], found[s])
    return np.array(found)


def furthest(differs: Planes, depth: NDArray[np.int64]) -> Far | None:
    """Return the input pattern for which a difference propagates furthest, or None if no gate output differs."""
    reached = np.where(differs.any(axis=1), depth, 0)
    if not (most := int(reached.max())):
        return None
    deepest = differs[int(reached.argmax())]
    word = int(np.flatnonzero(deepest)[0])
    bits = int(deepest[word])
    patterns = np.bitwise_or.reduce(differs[depth >= _FAR * most], axis=0)
    return Far(word, (bits & -bits).bit_length() - 1, _FAR * most, patterns)


def in_common(patterns: Planes, chosen: NDArray[np.uint64]) -> dict[int, int]:
    """Return the input bits that have the same value in all chosen patterns, as pairs (position, value)."""
    zero, one = ((np.bitwise_or.reduce(planes & chosen, axis=1) == 0) for planes in (patterns, ~patterns))
    return {int(place): int(one[place]) for place in np.flatnonzero(zero | one)}
