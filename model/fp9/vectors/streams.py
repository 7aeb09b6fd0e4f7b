"""Golden vectors as streams of lines, for test benches that read from a pipe.

The functions follow the programs testfloat_gen and testfloat_ver (Hauser, Berkeley TestFloat release 3e). Each line of
a stream has the same columns as a line of a `vec` file.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fp9.suites import inputs_of
from fp9.units import Unit
from fp9.vectors.encodings import FILE_FORMATS, hex_columns
from fp9.vectors.sets import VectorSet, concatenate, from_inputs

# Random operations at level 2, and in each further round of an endless stream.
DRAWN = 100_000

LEVELS: dict[int, tuple[tuple[str, int | None], ...]] = {
    1: (("corner", None),),
    2: (("corner", None), ("random", DRAWN)),
}

_READ = 1 << 14

_FORM = FILE_FORMATS["vec"]


def generated(unit: Unit, level: int = 1, seed: int = 0, *, forever: bool = False) -> Iterator[bytes]:
    """Yield the golden vectors of a test level as byte strings that contain many lines of a `vec` file."""
    if level not in LEVELS:
        raise ValueError(f"level {level} given; choose from {', '.join(map(str, LEVELS))}")
    if forever and unit.has_state:
        raise ValueError(f"{unit.name}: its operations are one sequence from reset; leave out --forever")
    parts = (from_inputs(unit, inputs_of(unit, suite, count, seed)) for suite, count in LEVELS[level])
    yield from map(_lines, [concatenate(list(parts))] if unit.has_state else parts)
    for further in itertools.count(seed + 1) if forever else ():
        yield _lines(from_inputs(unit, inputs_of(unit, "random", DRAWN, further)))


def _lines(vectors: VectorSet) -> bytes:
    columns = {
        port.name: np.ma.masked_array(
            {**vectors.inputs, **vectors.expected}[port.name],
            ~vectors.care[port.name] if port.name in vectors.care else np.ma.nomask,
        )
        for port in vectors.columns
    }
    text = _FORM.encode(vectors.unit.name, vectors.columns, columns)
    return b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(b"#"))


@dataclass(frozen=True)
class Wrong:
    line: int
    operands: dict[str, int]
    expected: dict[str, int]
    found: dict[str, int]


@dataclass(frozen=True)
class Verdict:
    """Result of a comparison: number of lines, number of wrong lines, and the first wrong lines."""

    lines: int
    wrong: int
    first: tuple[Wrong, ...]


def verified(unit: Unit, lines: Iterable[str], shown: int = 20) -> Verdict:
    """Compare lines of operands and results with the golden model, except undefined outputs."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip() and line[0] != "#")
    counted = wrong = 0
    first: list[Wrong] = []
    while batch := list(itertools.islice(numbered, None if unit.has_state else _READ)):
        found = _compared(unit, batch)
        counted += len(batch)
        wrong += len(found)
        first += found[: shown - len(first)]
    if not counted:
        raise ValueError(
            f"{unit.name}: no line to compare; give operands and results, as `fp9 vectors gen` prints them"
        )
    return Verdict(counted, wrong, tuple(first))


def _compared(unit: Unit, batch: list[tuple[int, str]]) -> list[Wrong]:
    columns = hex_columns({number: line.split() for number, line in batch}, (*unit.inputs, *unit.outputs))
    model = from_inputs(unit, {port.name: columns[port.name].data for port in unit.inputs})
    differs = np.zeros(len(batch), dtype=np.bool_)
    for port in unit.outputs:
        cared = model.care.get(port.name, np.True_) & ~np.ma.getmaskarray(columns[port.name])
        differs |= (columns[port.name].data != model.expected[port.name]) & cared
    return [
        Wrong(
            batch[index][0],
            {port.name: int(model.inputs[port.name][index]) for port in unit.inputs},
            {port.name: int(model.expected[port.name][index]) for port in unit.outputs},
            {port.name: int(columns[port.name].data[index]) for port in unit.outputs},
        )
        for index in np.flatnonzero(differs)
    ]


def as_record(verdict: Verdict) -> dict[str, object]:
    return dataclasses.asdict(verdict)
