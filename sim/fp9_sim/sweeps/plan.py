"""What a sweep covers: an enumeration of a unit's input space, cut into shards that are functions of their index."""

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
"""Most operations of a space that is enumerated: 64 stretches of 2^32, some hours on a machine."""

SHARD = 1 << 24
"""Operations of an enumerated shard: some seconds of work, which is what a kill costs."""

DRAWN_SHARD = 1 << 20
"""Most operations of a stratified shard, which is held in memory as a whole."""

BLOCK = 1 << 18
"""Enumerated operations evaluated at once, so that they stay in the caches."""

STREAMS = 1024
"""Sequences of a unit with stages that run side by side."""

_STREAMED = 1 << 24
"""Operations from which on it pays to open a unit's registers."""

STRATIFIED_COUNT = 1 << 26
"""Operations of a stratified sweep, when no other count is asked for."""


@dataclass(frozen=True)
class Plan:
    """The shards of a sweep. `exhaustive` enumerates every input, the last wide port running fastest.

    A select port takes its named choices (a pattern beyond the last one means the last), a bias port what the format
    takes, every other port every pattern. Spaces beyond `EXHAUSTIVE_LIMIT` and units with state are `stratified`:
    shard 0 is the corner suite, which goes through exponent differences, cancellations, ties, subnormals and specials,
    and the others are random operations, seeded with the shard's index, to `count` operations in all at least.
    """

    unit: Unit
    count: int = STRATIFIED_COUNT
    shard: int = SHARD

    def __post_init__(self) -> None:
        if self.count < 1 or self.shard < 1:
            raise ValueError(f"count {self.count} in shards of {self.shard} given; give 1 or more of each")

    @cached_property
    def axes(self) -> tuple[tuple[Port, NDArray[Any]], ...]:
        """Ports with the values they take, the slowest first: selects, then biases, then operands in port order."""
        ordered = sorted(self.unit.inputs, key=lambda port: (not port.choices, not port.name.endswith("_bias")))
        return tuple((port, _axis(port)) for port in ordered)

    @cached_property
    def space(self) -> int:
        """Operations of the whole input space."""
        sizes = (len(port.choices) or _values(port) for port in self.unit.inputs)
        return math.prod(sizes)

    @property
    def exhaustive(self) -> bool:
        """Whether every input is met."""
        return not self.unit.has_state and self.space <= EXHAUSTIVE_LIMIT

    @property
    def kind(self) -> str:
        """`exhaustive` or `stratified`."""
        return "exhaustive" if self.exhaustive else "stratified"

    @property
    def operations(self) -> int:
        """About how many operations all shards have."""
        return self.space if self.exhaustive else self.count

    @property
    def shard_size(self) -> int:
        """Operations of a shard; the last one of an enumeration may have fewer, the corner suite has its own number."""
        return self.shard if self.exhaustive else min(self.shard, DRAWN_SHARD)

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return -(-self.space // self.shard) if self.exhaustive else 1 + -(-self.count // self.shard_size)

    def streams(self, index: int) -> int | None:
        """How many sequences of a shard run side by side; the first shard runs in the unit as it stands."""
        return STREAMS if self.unit.stages and self.operations >= _STREAMED and index else None

    def blocks(self, index: int) -> Iterator[Columns]:
        """A shard's operations in parts to be evaluated one by one: columns of shape (n,) for each input port."""
        if self.exhaustive:
            start, end = index * self.shard, min((index + 1) * self.shard, self.space)
            for first in range(start, end, BLOCK):
                yield self._enumerated(first, min(first + BLOCK, end))
            return
        columns = inputs_of(self.unit, *(("random", self.shard_size, index) if index else ("corner", None, 0)))
        yield {port.name: columns[port.name].astype(port_dtype(port)) for port in self.unit.inputs}

    def _enumerated(self, first: int, stop: int) -> Columns:
        """The operations first..stop-1: a port takes its next value after a period, all values of the faster ports."""
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
    """The values that a port takes at so many turns, over and over, from the value at the place `first`."""
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
    """The values of a select or bias port; none for a port that takes every pattern."""
    if port.choices:
        return np.arange(len(port.choices), dtype=port_dtype(port))
    return np.array(every_value(port) if port.name.endswith("_bias") else [], dtype=port_dtype(port))


def parse_range(text: str, shards: int) -> range:
    """Shards `FIRST:STOP` of a plan with so many; either end may be left out. Raises ValueError for anything else."""
    first, colon, stop = text.partition(":")
    try:
        chosen = range(int(first or 0), int(stop or shards))
    except ValueError:
        chosen = range(0)
    if not colon or not chosen or chosen.start < 0 or chosen.stop > shards:
        raise ValueError(f"shards {text!r} given; give FIRST:STOP within 0:{shards}, STOP not included")
    return chosen
