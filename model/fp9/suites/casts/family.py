"""Record that holds the inputs of a group of cast operations, such as codes and scales."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp9.suites.columns import every_value
from fp9.units import Port

Codes = NDArray[np.int64]
Choices = Mapping[str, ArrayLike]


@dataclass(frozen=True)
class Family:
    """Test operations for one lane of a cast unit, with select values `choices` of shape (n, select ports)."""

    codes: Codes
    choices: NDArray[np.uint32]
    # If None, the suite later chooses random bits and scales.
    random: Codes | None = None
    scale: Codes | None = None


def rows(selects: Sequence[Port], chosen: Choices, count: int) -> NDArray[np.uint32]:
    """Return the values of all select ports, shape (count, ports), with 0 for ports that are not in `chosen`."""
    columns = [np.broadcast_to(np.asarray(chosen.get(port.name, 0)), count) for port in selects]
    return np.stack(columns, axis=1).astype(np.uint32) if columns else np.zeros((count, 0), dtype=np.uint32)


def every_choice(selects: Sequence[Port]) -> NDArray[np.uint32]:
    """Return all combinations of select values, shape (n, ports), including unused values."""
    return np.array(list(itertools.product(*(every_value(port) for port in selects))), dtype=np.uint32)
