"""Extract an operation and its neighbours from a vector set, to make waveform files small."""

from __future__ import annotations

import numpy as np

from fp9.vectors.sets import VectorSet

NEIGHBOURS = 8


def neighbourhood(vectors: VectorSet, index: int, count: int | None = None) -> VectorSet:
    """Return the operations around operation `index` of a vector set.

    If `count` is given, the function returns `count` operations from operation `index` on. Earlier operations that
    influence the results of the returned operations are also included. Blocks are never divided.
    """
    unit, size = vectors.unit, len(vectors)
    if index >= size:
        raise ValueError(f"operation {index} given; there are {size:,}, give 0 to {size - 1}")
    begins = np.flatnonzero(unit.restarts(vectors.inputs))
    first = max(0, index - NEIGHBOURS) if count is None else index
    before = begins[begins <= first]
    low = int(before[-1]) if len(before) else 0
    high = min(size, index + (NEIGHBOURS + 1 if count is None else count))
    high = min(size, high + -high % unit.group)
    inputs, expected, care = (
        {name: column[low:high] for name, column in part.items()}
        for part in (vectors.inputs, vectors.expected, vectors.care)
    )
    return VectorSet(unit, inputs, expected, care, dict(vectors.origin))
