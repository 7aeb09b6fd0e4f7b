"""The golden model of a unit one operation at a time, as a test bench asks it."""

from __future__ import annotations

import tomllib

import numpy as np

from fp9.golden.evaluate import evaluate
from fp9.units import Columns, Unit
from fp9.units.toml import build


class Model:
    """A unit's golden model with the state that the operations so far have left.

    A step of a unit with state computes the operations since the last one that starts anew (LOAD, CLEAR, a cleared
    amax) again, so a sequence of n such operations takes time of order n^2.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._since: list[tuple[int, ...]] = []

    def reset(self) -> None:
        """As after the reset of the hardware."""
        self._since = []

    def step(self, *codes: int) -> tuple[int, ...]:
        """The outputs of an operation, both as codes in port order, and behind them which outputs carry meaning: bit i
        for output i.

        Raises TypeError for another number of codes than inputs.
        """
        if len(codes) != len(self.unit.inputs):
            raise TypeError(f"{self.unit.name}: {len(codes)} codes given; it has {len(self.unit.inputs)} inputs")
        self._since.append(codes)
        columns = self._columns()
        if self.unit.starts_anew(columns)[-1]:
            self._since = [codes]
            columns = self._columns()
        results = evaluate(self.unit, columns)
        care = self.unit.care(results)
        meaning = sum(
            1 << i for i, port in enumerate(self.unit.outputs) if port.name not in care or care[port.name][-1]
        )
        return (*(int(results[port.name][-1]) for port in self.unit.outputs), meaning)

    def _columns(self) -> Columns:
        table = np.array(self._since, dtype=np.uint64)
        return {port.name: table[:, i] for i, port in enumerate(self.unit.inputs)}


def model_of(spec: str) -> Model:
    """The model of a unit that is described by the text of a TOML file. Raises ValueError for what is none."""
    return Model(build(tomllib.loads(spec)))
