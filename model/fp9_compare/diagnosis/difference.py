"""Differences of an implementation from its specification, and the results that they cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.golden import evaluate
from fp9.units import Columns, Port, Results, Unit


class Topic(IntEnum):
    """Topic of a difference between an implementation and its specification, such as the rounding mode.

    The values of the topics give the order in which the function `results_under` applies several differences. The
    diagnosis assumes at most one difference for each topic, except for the topic `FLAGS`, which may have several.
    """

    SELECT = 0
    FORMAT = 1
    OPERANDS = 2
    SCALE = 3
    ROUNDING = 4
    SUM = 5
    OVERFLOW = 6
    SUBNORMALS = 7
    ZERO = 8
    INFINITY = 9
    NAN = 10
    INTEGERS = 11
    FLAGS = 12


def _same_unit(unit: Unit) -> Unit:
    return unit


def _same_operands(unit: Unit, inputs: Columns) -> Columns:
    return inputs


def _same_results(unit: Unit, inputs: Columns, results: Results) -> Results:
    return results


@dataclass(frozen=True)
class Difference:
    """Possible difference of an implementation from its specification, such as another rounding mode.

    `says` describes the difference to the user. The three functions `spec`, `operands` and `results` change the
    specification, operands and results, respectively. If `any_nan` is true, any NaN code is correct where a NaN is
    expected.
    """

    topic: Topic
    says: str
    spec: Callable[[Unit], Unit] = _same_unit
    operands: Callable[[Unit, Columns], Columns] = _same_operands
    results: Callable[[Unit, Columns, Results], Results] = _same_results
    any_nan: bool = False


def results_under(unit: Unit, inputs: Columns, differences: Iterable[Difference]) -> Results:
    """Return the results of an implementation that differs from its specification in the given ways.

    Raises ValueError if the changed specification is invalid, has a new input port, or does not have the same
    output port names as `unit`.
    """
    ordered = sorted(differences, key=lambda difference: difference.topic)
    other, read = unit, inputs
    for difference in ordered:
        read = difference.operands(other, read)
        other = difference.spec(other)
    _check_ports(unit, other)
    results = evaluate(other, {port.name: read[port.name] for port in other.inputs})
    for difference in ordered:
        results = {**results, **difference.results(other, read, results)}
    ours = {port.name: port for port in unit.outputs}
    return {port.name: _fitted(port, ours[port.name], results[port.name]) for port in other.outputs}


def changed(unit: Unit, differences: Iterable[Difference]) -> Unit:
    """Return the specification `unit` with the given differences applied.

    Raises ValueError if the changed specification is invalid, has a new input port, or does not have the same
    output port names as `unit`.
    """
    other = unit
    for difference in differences:
        other = difference.spec(other)
    _check_ports(unit, other)
    return other


def _check_ports(unit: Unit, other: Unit) -> None:
    missing = {port.name for port in other.inputs} - {port.name for port in unit.inputs}
    if missing or [port.name for port in other.outputs] != [port.name for port in unit.outputs]:
        raise ValueError(f"{unit.name}: the differences change the ports; give differences that keep them")


def _fitted(theirs: Port, ours: Port, values: NDArray[Any]) -> NDArray[Any]:
    if theirs.width == ours.width:
        return values
    wide = np.asarray(values, dtype=np.int64)
    if ours.signed:
        half = 1 << (theirs.width - 1)
        wide = (wide ^ half) - half
    return (wide & ((1 << ours.width) - 1)).astype(np.uint64)
