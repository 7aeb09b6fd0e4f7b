"""Choose the test operations for a third-party unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from fp9.formats.rounding import Flags
from fp9.suites import inputs_of
from fp9.suites.columns import every_value
from fp9.units import FLAGS_PORT
from fp9.vectors.sets import VectorSet, from_inputs
from fp9_sim.third_party.mapping import Design

Columns = dict[str, Any]


def operations(design: Design, suite: str, count: int, seed: int, few: int) -> VectorSet:
    """Return the test operations for a DUT, with the expected results.

    If the unit has no state and its inputs have at most `few` combinations, return all combinations. For a unit with
    state, or with more than `few` input combinations, return the test suite `suite` and `count` random operations.
    """
    free = _free(design)
    bits = sum(port.width for port in design.spec.inputs if port.name in free)
    if 1 << bits <= few and not design.spec.has_state:
        columns = _every(design, free)
    else:
        parts = [inputs_of(design.operands, suite, None, 0), inputs_of(design.operands, "random", count, seed)]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    size = len(next(iter(columns.values())))
    columns |= {name: np.full(size, code) for name, code in design.held.items()}
    columns |= {name: columns[first] for name, first in _together(design).items()}
    made = from_inputs(design.spec, columns)
    nothing = {name: np.zeros(len(made), dtype=np.bool_) for name in design.without}
    expected = dict(made.expected)
    if FLAGS_PORT.name in expected:
        expected[FLAGS_PORT.name] = expected[FLAGS_PORT.name] & np.uint8(design.flag_bits & ~Flags.DIVIDE_BY_ZERO)
    return VectorSet(made.unit, made.inputs, expected, {**made.care, **nothing}, made.origin)


def _together(design: Design) -> dict[str, str]:
    seen: dict[tuple[str, ...], str] = {}
    found = {}
    for port in design.spec.inputs:
        if port.name in design.ports:
            first = seen.setdefault(design.ports[port.name], port.name)
            if first != port.name:
                found[port.name] = first
    return found


def _free(design: Design) -> list[str]:
    bound = {*design.held, *_together(design)}
    return [port.name for port in design.spec.inputs if port.name not in bound]


def _every(design: Design, free: list[str]) -> Columns:
    values = [every_value(port) for port in design.spec.inputs if port.name in free]
    table = np.array(np.meshgrid(*values, indexing="ij"), dtype=np.uint32).reshape(len(values), -1)
    return dict(zip(free, table, strict=True))
