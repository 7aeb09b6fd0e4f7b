"""The plan of a sweep, which divides a unit's inputs into shards."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.suites import inputs_of
from fp9.suites.columns import every_value
from fp9.units import Port, Unit
from fp9.vectors.sets import port_dtype

Columns = dict[str, "NDArray[Any]"]

EXHAUSTIVE_LIMIT = 1 << 38
"""Largest number of operations that a sweep enumerates. Such a sweep takes some hours on one machine."""

SHARD = 1 << 24

DRAWN_SHARD = 1 << 20
"""Largest number of operations in a stratified shard, which is held in memory."""

BLOCK = 1 << 18
"""Number of operations that are evaluated together, because they fit into the processor's caches."""

STREAMS = 1024

_STREAMED = 1 << 24
"""Smallest number of operations for which parallel sequences are worth their set-up time."""

STRATIFIED_COUNT = 1 << 26


@dataclass(frozen=True)
class Plan:
    """The shards of an exhaustive or stratified sweep.

    An exhaustive sweep enumerates every input. In an exhaustive sweep, a select port takes its named choices, a bias
    port takes every valid bias of its format, and any other port takes all bit patterns.

    A sweep is stratified if the input space exceeds `EXHAUSTIVE_LIMIT` or if the unit has state. Shard 0 of a
    stratified sweep is the unit's corner suite. Each shard from shard 1 on contains random operations, with the shard's
    index as the random seed.
    """

    unit: Unit
    count: int = STRATIFIED_COUNT
    shard: int = SHARD

    def __post_init__(self) -> None:
        if self.count < 1 or self.shard < 1:
            raise ValueError(f"count {self.count} in shards of {self.shard} given; give 1 or more of each")

    @cached_property
    def axes(self) -> tuple[tuple[Port, NDArray[Any]], ...]:
        """Return the input ports and their values in enumeration order: selects change slowest, operands fastest."""
        ordered = sorted(self.unit.inputs, key=lambda port: (not port.choices, not port.name.endswith("_bias")))
        return tuple((port, _axis(port)) for port in ordered)

    @cached_property
    def space(self) -> int:
        sizes = (len(port.choices) or _values(port) for port in self.unit.inputs)
        return math.prod(sizes)

    @property
    def exhaustive(self) -> bool:
        return not self.unit.has_state and self.space <= EXHAUSTIVE_LIMIT

    @property
    def kind(self) -> str:
        return "exhaustive" if self.exhaustive else "stratified"

    @property
    def operations(self) -> int:
        return self.space if self.exhaustive else self.count

    @property
    def shard_size(self) -> int:
        """Return the number of operations in a shard.

        The last shard and the shard with the corner suite can have a different number of operations.
        """
        return self.shard if self.exhaustive else min(self.shard, DRAWN_SHARD)

    @property
    def shards(self) -> int:
        return -(-self.space // self.shard) if self.exhaustive else 1 + -(-self.count // self.shard_size)

    def streams(self, index: int) -> int | None:
        """Return how many operation sequences a shard runs in parallel, or None if the shard is a single sequence."""
        return STREAMS if self.unit.stages and self.operations >= _STREAMED and index else None

    def blocks(self, index: int) -> Iterator[Columns]:
        """Yield the operations of a shard in blocks, with an array of shape (n,) for each input port."""
        if self.exhaustive:
            start, end = index * self.shard, min((index + 1) * self.shard, self.space)
            for first in range(start, end, BLOCK):
                yield self._enumerated(first, min(first + BLOCK, end))
            return
        columns = inputs_of(self.unit, *(("random", self.shard_size, index) if index else ("corner", None, 0)))
        yield {port.name: columns[port.name].astype(port_dtype(port)) for port in self.unit.inputs}

    def _enumerated(self, first: int, stop: int) -> Columns:
        columns: Columns = {}
        period = 1
        for port, values in reversed(self.axes):
            size = len(values) or 1 << port.width
            taken = _turns(port, values, first // period % size, (stop - 1) // period - first // period + 1)
            if len(taken) == 1:
                columns[port.name] = np.full(stop - first, taken[0])
            else:
                repeated = taken if period == 1 else np.repeat(taken, period)
                columns[port.name] = repeated[first % period :][: stop - first]
            period *= size
        return {port.name: columns[port.name] for port in self.unit.inputs}


def _turns(port: Port, values: NDArray[Any], first: int, count: int) -> NDArray[Any]:
    dtype = np.dtype(np.uint32 if first + count <= 1 << 32 else np.uint64)
    places: NDArray[Any] = np.arange(first, first + count, dtype=dtype)
    if len(values):
        taken: NDArray[Any] = values[places % len(values)]
        return taken
    within = places if port.width == 8 * port_dtype(port).itemsize else places & dtype.type((1 << port.width) - 1)
    return within.astype(port_dtype(port), copy=False)


def _values(port: Port) -> int:
    return len(every_value(port)) if port.name.endswith("_bias") else 1 << port.width


def _axis(port: Port) -> NDArray[Any]:
    if port.choices:
        return np.arange(len(port.choices), dtype=port_dtype(port))
    return np.array(every_value(port) if port.name.endswith("_bias") else [], dtype=port_dtype(port))


def parse_range(text: str, shards: int) -> range:
    """Parse a range of shards, `FIRST:STOP`. Either end may be omitted. Raises ValueError for any other text."""
    first, colon, stop = text.partition(":")
    try:
        chosen = range(int(first or 0), int(stop or shards))
    except ValueError:
        chosen = range(0)
    if not colon or not chosen or chosen.start < 0 or chosen.stop > shards:
        raise ValueError(f"shards {text!r} given; give FIRST:STOP within 0:{shards}, STOP not included")
    return chosen
