"""What a unit's energy is measured over: drawn operations, a suite, or those of a recorded training step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.suites import inputs_of
from fp9.units import Cast, Unit
from fp9_ml.recipes import read_recording
from fp9_ml.recorded import of_casts, of_products

COUNT = 10_240
"""Operations that are drawn, or taken from a recording, at least."""

SUITES = ("random", "corner")
"""Data that goes by a name: operands drawn from all codes, and the corner suite."""

Columns = dict[str, NDArray[Any]]


def operations(unit: Unit, data: str, count: int = COUNT, seed: int = 0) -> Columns:
    """Input columns of a unit: `random`, `corner`, or whole sums or casts out of the recording in a file of that name.

    Raises ValueError for what is neither, and for a recording that the unit can compute nothing of.
    """
    if data in SUITES:
        return dict(inputs_of(unit, data, count if data == "random" else None, seed))
    if not Path(data).is_file():
        raise ValueError(f"data {data!r} given; give {', '.join(SUITES)}, layer, or the file of a recording")
    run = read_recording(data)

    def drawn(each: int) -> Columns:
        generator = np.random.default_rng(seed)
        if isinstance(unit, Cast):
            return of_casts(unit, run.casts, generator, each)
        return of_products(unit, run.products, generator, each)

    return enough(drawn, count)


def enough(take: Callable[[int], Columns], count: int) -> Columns:
    """At least `count` operations, where `take` gives so many sums of each product, casts or blocks of each tensor."""
    one = len(next(iter(take(1).values())))
    return take(-(-count // one))
