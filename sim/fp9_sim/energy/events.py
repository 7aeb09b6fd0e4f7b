"""Select the entries of a cell library that give the internal energy of a signal change at a cell's pins."""

# A changed output dissipates the energy in the library's entry for the input that caused the change. If several inputs
# changed at once, each input accounts for an equal share. A changed input also dissipates the energy in the library's
# entry for the input pin. Conditions in the cell library refer to the pin values after the change. An entry without a
# condition applies only if no other entry's condition is true. In a clock cycle of a register, the clock rises, the
# stored bit changes, the clock falls, and then the inputs settle.

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from fp9_rtl.synthesis.liberty import holds
from fp9_rtl.synthesis.power import Arc, Cell
from fp9_sim.energy.loads import FALL, RISE
from fp9_sim.netlists.cells import History, Placed

# Index of an energy table (arc), the edge, and the fraction of the table's energy that is dissipated.
Share = tuple[int, int, float]


@dataclass(frozen=True)
class _Event:
    """Signal edge at a pin, the pins that caused the edge, and the values of all pins after the edge."""

    pin: str
    edge: int
    causes: frozenset[str]
    values: Mapping[str, bool]


def steps(placed: Placed, history: History, first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different state changes of a cell from clock cycle `first` on, and how often each one occurs."""
    cell = placed.cell
    index = _state(history, [placed.nets[pin] for pin in cell.inputs], first)
    before, after = index[:-1], index[1:]
    if cell.clock:
        before = before << 1 | _state(history, [placed.bit], first)[:-1]
    # An integer encodes a state change: the cell's inputs in two consecutive clock cycles and, for a register, the
    # stored bit. The function `shares` decodes the integer.
    found, counts = np.unique(before << len(cell.inputs) | after, return_counts=True)
    return found, counts


def _state(history: History, nets: Sequence[int], first: int) -> NDArray[np.int64]:
    # One integer for each clock cycle from `first` - 1 on, with the first net as the most significant bit.
    index = np.zeros((len(history) - first + 1, history.shape[2] * 64), dtype=np.int64)
    for net in nets:
        bits = np.unpackbits(np.ascontiguousarray(history[first - 1 :, net]).view(np.uint8), axis=1)
        index = index << 1 | bits
    return index


@lru_cache(maxsize=1 << 17)
def shares(cell: Cell, step: int) -> tuple[Share, ...]:
    """Return the cell library's energy tables for a state change of a cell, with a weight for each table."""
    events = _of_register(cell, step) if cell.clock else _of_logic(cell, step)
    return tuple(share for event in events for share in _taken(cell, event))


def _of_logic(cell: Cell, step: int) -> Iterator[_Event]:
    width = len(cell.inputs)
    before, after = step >> width, step & ((1 << width) - 1)
    values = _inputs(cell, after) | {pin: table[after] for pin, table in cell.outputs.items()}
    old = _inputs(cell, before) | {pin: table[before] for pin, table in cell.outputs.items()}
    causes = frozenset(pin for pin in cell.inputs if values[pin] != old[pin])
    for pin, value in values.items():
        if value != old[pin]:
            yield _Event(pin, RISE if value else FALL, causes, values)


def _of_register(cell: Cell, step: int) -> Iterator[_Event]:
    width = len(cell.inputs)
    bit_before, inputs_before, after = step >> width & 1, step >> (width + 1), step & ((1 << width) - 1)
    bit = int(cell.next_bit[inputs_before])
    old, new = _inputs(cell, inputs_before), _inputs(cell, after)
    outputs = [{pin: table[b] for pin, table in cell.outputs.items()} for b in (bit_before, bit)]
    clock = frozenset([cell.clock])
    yield _Event(cell.clock, RISE, clock, {**old, **outputs[0], cell.clock: True})
    for pin, value in outputs[1].items():
        if value != outputs[0][pin]:
            yield _Event(pin, RISE if value else FALL, clock, {**old, **outputs[1], cell.clock: True})
    yield _Event(cell.clock, FALL, clock, {**old, **outputs[1], cell.clock: False})
    for pin, value in new.items():
        if value != old[pin]:
            settled = {**new, **outputs[1], cell.clock: False}
            yield _Event(pin, RISE if value else FALL, frozenset([pin]), settled)


def _inputs(cell: Cell, state: int) -> dict[str, bool]:
    width = len(cell.inputs)
    return {pin: bool(state >> (width - 1 - place) & 1) for place, pin in enumerate(cell.inputs)}


def _taken(cell: Cell, event: _Event) -> Iterator[Share]:
    arcs = [(n, arc) for n, arc in enumerate(cell.energies) if arc.pin == event.pin and arc.edges[event.edge]]
    for _, supplied in groupby(sorted(arcs, key=lambda entry: entry[1].supply), key=lambda entry: entry[1].supply):
        chosen = _chosen(list(supplied), event)
        for n in chosen:
            yield n, event.edge, 1 / len(chosen)


def _chosen(arcs: list[tuple[int, Arc]], event: _Event) -> list[int]:
    caused = [(n, arc) for n, arc in arcs if not arc.related or event.causes.intersection(arc.related)]
    by_cause: dict[tuple[str, ...], list[tuple[int, Arc]]] = defaultdict(list)
    for n, arc in caused:
        by_cause[arc.related].append((n, arc))
    fitting: list[int] = []
    for group in by_cause.values():
        fitting += [n for n, arc in group if arc.when and holds(arc.when, event.values)] or [
            n for n, arc in group if not arc.when
        ]
    return fitting or [n for n, arc in arcs if arc.related]


__all__ = ["Share", "shares", "steps"]
