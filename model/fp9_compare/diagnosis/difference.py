"""A way in which third-party work differs from its spec, and the results of a spec under several of them at once."""

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
    """What a difference is about, in the order of effect; two differences of one topic exclude each other."""

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
    FLAGS = 11


def _same_unit(unit: Unit) -> Unit:
    return unit


def _same_operands(unit: Unit, inputs: Columns) -> Columns:
    return inputs


def _same_results(unit: Unit, inputs: Columns, results: Results) -> Results:
    return results


@dataclass(frozen=True)
class Difference:
    """What may be different, said to the user: another spec, operands read otherwise, results given otherwise.

    `operands` is given the spec with the differences before it and changes what that reads; `results` is given the spec
    with all differences, the operands as they were read and the results so far, and gives those that change. With
    `any_nan` every NaN is as good as the expected one.
    """

    topic: Topic
    says: str
    spec: Callable[[Unit], Unit] = _same_unit
    operands: Callable[[Unit, Columns], Columns] = _same_operands
    results: Callable[[Unit, Columns, Results], Results] = _same_results
    any_nan: bool = False


def results_under(unit: Unit, inputs: Columns, differences: Iterable[Difference]) -> Results:
    """Results of a unit that differs so. Raises ValueError where its spec cannot be changed so."""
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
    """The spec under differences. Raises ValueError where there is none, or none with the same ports."""
    other = unit
    for difference in differences:
        other = difference.spec(other)
    _check_ports(unit, other)
    return other


def _check_ports(unit: Unit, other: Unit) -> None:
    missing = {port.name for port in other.inputs} - {port.name for port in unit.inputs}
    if missing or [port.name for port in other.outputs] != [port.name for port in unit.outputs]:
        raise ValueError(f"{unit.name}: other ports under the differences; give ones that keep them")


def _fitted(theirs: Port, ours: Port, values: NDArray[Any]) -> NDArray[Any]:
    """Values of a port of another width in the width of ours, by sign where it has one."""
    if theirs.width == ours.width:
        return values
    wide = np.asarray(values, dtype=np.int64)
    if ours.signed:
        half = 1 << (theirs.width - 1)
        wide = (wide ^ half) - half
    return (wide & ((1 << ours.width) - 1)).astype(np.uint64)
