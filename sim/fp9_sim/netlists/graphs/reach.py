"""How far a difference between two circuits goes, and which inputs it needs for that.

Most differences end soon. One that ends late, only in the last steps, often does so for few operands, as those that are
infinite: what they have in common parts all inputs into these and the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp9_sim.netlists.gates import WORD, Planes, Row

_FAR = 0.5
"""How much of the way of the one that goes furthest a difference has to go to be a far one."""


@dataclass(frozen=True)
class Far:
    """The pattern whose difference goes furthest, by its word and place in it; `patterns`, a bit for each, are those
    that go `depth` at least."""

    word: int
    place: int
    depth: float
    patterns: NDArray[np.uint64]

    def flipped(self, patterns: Planes) -> Planes:
        """The pattern with each of its bits flipped, one after the other."""
        bits = patterns[:, self.word] >> np.uint64(self.place) & np.uint64(1)
        planes = np.repeat(~np.uint64(0) * bits[:, None], -(-len(bits) // WORD), axis=1)
        places = np.arange(len(bits))
        planes[places, places // WORD] ^= np.uint64(1) << (places % WORD).astype(np.uint64)
        flipped: Planes = planes
        return flipped

    def flips_that_stay(self, differs: Planes, depth: NDArray[np.int64]) -> set[int]:
        """The bits that may be flipped and the difference still goes far; `differs` is that of `flipped`."""
        reached = np.bitwise_or.reduce(differs[depth >= self.depth], axis=0)
        return {WORD * word + i for word, bits in enumerate(reached.tolist()) for i in range(WORD) if bits >> i & 1}


def depths(gates: Sequence[Row], nets: int) -> NDArray[np.int64]:
    """The longest path from an input to every net."""
    found = [0] * nets
    for _, a, b, s, y in gates:
        found[y] = 1 + max(found[a], found[b], found[s])
    return np.array(found)


def furthest(differs: Planes, depth: NDArray[np.int64]) -> Far | None:
    """The patterns whose difference goes far; None where there is none but in inputs."""
    reached = np.where(differs.any(axis=1), depth, 0)
    if not (most := int(reached.max())):
        return None
    deepest = differs[int(reached.argmax())]
    word = int(np.flatnonzero(deepest)[0])
    bits = int(deepest[word])
    patterns = np.bitwise_or.reduce(differs[depth >= _FAR * most], axis=0)
    return Far(word, (bits & -bits).bit_length() - 1, _FAR * most, patterns)


def in_common(patterns: Planes, chosen: NDArray[np.uint64]) -> dict[int, int]:
    """The bits, by their places, that have one value in all patterns chosen."""
    zero, one = ((np.bitwise_or.reduce(planes & chosen, axis=1) == 0) for planes in (patterns, ~patterns))
    return {int(place): int(one[place]) for place in np.flatnonzero(zero | one)}
