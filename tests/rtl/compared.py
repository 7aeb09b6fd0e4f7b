"""What a circuit gives beside the golden model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.golden import evaluate
from fp9.units import Unit

Columns = dict[str, NDArray[Any]]


def assert_equal(unit: Unit, inputs: Columns, got: Columns) -> None:
    """Every output of the unit that carries meaning is the golden one."""
    expected = evaluate(unit, inputs)
    care = unit.care(expected)
    assert set(got) == set(expected)
    for name, values in got.items():
        wrong = (values != expected[name]) & care.get(name, np.ones(values.size, dtype=np.bool_))
        first = int(np.argmax(wrong))
        operation = {port: hex(column[first]) for port, column in inputs.items()}
        assert not wrong.any(), f"{name} of {operation}: {values[first]:#x}, expected {expected[name][first]:#x}"
