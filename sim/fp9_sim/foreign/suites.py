"""The operations that a unit that is not ours is given: every one where there are few, else the suites of its spec."""

from __future__ import annotations

from typing import Any

import numpy as np

from fp9.rounding import Flags
from fp9.suites import inputs_of
from fp9.suites.columns import every_value
from fp9.units import FLAGS_PORT
from fp9.vectors.sets import VectorSet, from_inputs
from fp9_sim.foreign.mapping import Foreign

Columns = dict[str, Any]


def operations(foreign: Foreign, suite: str, count: int, seed: int, few: int) -> VectorSet:
    """Every combination of the inputs that they have, where there are at most `few`; else the suite and `count`
    random operations. Inputs that are held have their value, those on one of their ports the same one. Outputs that
    they do not have carry no meaning; flags that they do not have are 0."""
    free = _free(foreign)
    bits = sum(port.width for port in foreign.spec.inputs if port.name in free)
    if 1 << bits <= few and not foreign.spec.has_state:
        columns = _every(foreign, free)
    else:
        parts = [inputs_of(foreign.operands, suite, None, 0), inputs_of(foreign.operands, "random", count, seed)]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    size = len(next(iter(columns.values())))
    columns |= {name: np.full(size, code) for name, code in foreign.held.items()}
    columns |= {name: columns[first] for name, first in _together(foreign).items()}
    made = from_inputs(foreign.spec, columns)
    nothing = {name: np.zeros(len(made), dtype=np.bool_) for name in foreign.without}
    expected = dict(made.expected)
    if FLAGS_PORT.name in expected:
        expected[FLAGS_PORT.name] = expected[FLAGS_PORT.name] & np.uint8(foreign.flag_bits & ~Flags.DIVIDE_BY_ZERO)
    return VectorSet(made.unit, made.inputs, expected, {**made.care, **nothing}, made.origin)


def _together(foreign: Foreign) -> dict[str, str]:
    """Inputs of ours on the same port of theirs as one before them, with its name."""
    seen: dict[tuple[str, ...], str] = {}
    found = {}
    for port in foreign.spec.inputs:
        if port.name in foreign.ports:
            first = seen.setdefault(foreign.ports[port.name], port.name)
            if first != port.name:
                found[port.name] = first
    return found


def _free(foreign: Foreign) -> list[str]:
    """Inputs of ours that may have any value."""
    bound = {*foreign.held, *_together(foreign)}
    return [port.name for port in foreign.spec.inputs if port.name not in bound]


def _every(foreign: Foreign, free: list[str]) -> Columns:
    values = [every_value(port) for port in foreign.spec.inputs if port.name in free]
    table = np.array(np.meshgrid(*values, indexing="ij"), dtype=np.uint32).reshape(len(values), -1)
    return dict(zip(free, table, strict=True))
