"""Choose operations for energy measurements: random, from a corner suite, or from a recorded training step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.suites import inputs_of
from fp9.units import Unit
from fp9.units.views import cast_of
from fp9_ml.recipes import read_recording
from fp9_ml.recorded import of_casts, of_products

# Default of the smallest number of operations in a measurement.
COUNT = 10_240

SUITES = ("random", "corner")

Columns = dict[str, NDArray[Any]]


def operations(unit: Unit, data: str, count: int = COUNT, seed: int = 0) -> Columns:
    """Return operations of a unit as a dictionary with an array (n,) for each input port.

    `data` is `random`, `corner`, or the path of a recorded training step. Raises ValueError if `data` is an unknown
    name, or a recording that contains no operations for the unit.
    """
    if data in SUITES:
        return dict(inputs_of(unit, data, count if data == "random" else None, seed))
    if not Path(data).is_file():
        raise ValueError(f"data {data!r} given; give {', '.join(SUITES)}, layer, or the file of a recording")
    run = read_recording(data)

    def drawn(each: int) -> Columns:
        generator = np.random.default_rng(seed)
        if (cast := cast_of(unit)) is not None:
            return of_casts(cast, run.casts, generator, each)
        return of_products(unit, run.products, generator, each)

    return enough(drawn, count)


def enough(take: Callable[[int], Columns], count: int) -> Columns:
    """Return at least `count` operations from one call of the function `take`.

    The number of operations that `take(n)` returns is proportional to n.
    """
    # `take(n)` returns the operations of n dot products per matrix product, or of n values per tensor.
    one = len(next(iter(take(1).values())))
    return take(-(-count // one))
