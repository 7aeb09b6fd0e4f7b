"""Functions that check vector files against the golden model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fp9.system.version import __version__
from fp9.units import Unit
from fp9.vectors.manifests import differences, read_manifest
from fp9.vectors.sets import VectorSet, form_of, from_inputs, read


@dataclass(frozen=True)
class WrongValue:
    """Wrong result in a vector file: operation index (from 0), port, value in the file, and golden value."""

    vector: int
    port: str
    given: int
    expected: int

    def __str__(self) -> str:
        return f"vector {self.vector} has {self.port} = {self.given:#x}, and the model gives {self.expected:#x}"


@dataclass(frozen=True)
class Checked:
    """Result of checking a vector file: the number of operations, the faults of the file, and the wrong results."""

    path: Path
    operations: int
    faults: tuple[str, ...]
    wrong: tuple[WrongValue, ...]

    @property
    def passed(self) -> bool:
        return not self.faults and not self.wrong


def check(path: Path | str, unit: Unit | None = None) -> Checked:
    """Check the digest, manifest and inputs of a vector file, and compare the results with the golden model.

    If the manifest names a suite, the suite is generated again and must equal the inputs in the file. The default of
    `unit` is the catalogue unit that the manifest names. Raises ValueError if the file does not hold vectors of the
    unit, and OSError if the file is missing.
    """
    path = Path(path)
    vectors = read(path, unit)
    faults = [*_damages(path), *_mixed_up(path, vectors)]
    return Checked(path, len(vectors), (*faults, *_other_inputs(vectors)), _wrong_values(vectors))


def read_for(unit: Unit, path: Path | str) -> VectorSet:
    """Read vectors with expected results from a file, for a simulation of the given unit.

    Raises ValueError if the file has changed since its export or was exported for another unit. Raises OSError if the
    file cannot be read.
    """
    path = Path(path)
    said = read_manifest(path)
    again = f"export vectors of {unit.name} again"
    if said["unit"] != unit.name:
        raise ValueError(f"{path} holds vectors of {said['unit']}, not of {unit.name}; {again}")
    if damages := _damages(path):
        raise ValueError(f"{path} has changed since its export: {damages[0]}; {again}")
    vectors = read(path, unit)
    if faults := _mixed_up(path, vectors):
        raise ValueError(f"{path} holds no vectors of this {unit.name}: {faults[0]}; {again}")
    return vectors


def _damages(path: Path) -> list[str]:
    same = hashlib.sha256(path.read_bytes()).hexdigest() == read_manifest(path)["sha256"]
    return [] if same else ["its SHA-256 is not that of the manifest"]


def _mixed_up(path: Path, vectors: VectorSet) -> list[str]:
    manifest = read_manifest(path)
    faults = differences(manifest, vectors.unit, form_of(path))
    if manifest["count"] != len(vectors):
        faults.append(f"it holds {len(vectors)} operations, its manifest says {manifest['count']}")
    return faults


def _wrong_values(vectors: VectorSet) -> tuple[WrongValue, ...]:
    model = from_inputs(vectors.unit, vectors.inputs)
    found = []
    for name, expected in model.expected.items():
        given = vectors.expected[name]
        wrong = (expected != given) & model.care.get(name, np.True_)
        found += [WrongValue(int(i), name, int(given[i]), int(expected[i])) for i in np.flatnonzero(wrong)]
    return tuple(sorted(found, key=lambda value: value.vector))


def _other_inputs(vectors: VectorSet) -> list[str]:
    from fp9.suites import SUITES, inputs_of  # slow to load

    origin = vectors.origin
    if origin.get("suite") not in SUITES:
        return []
    again = inputs_of(vectors.unit, origin["suite"], origin.get("count"), origin.get("seed", 0))
    same = all(np.array_equal(column, vectors.inputs[name]) for name, column in again.items())
    return [] if same else [f"its inputs are not those of suite {origin['suite']} of fp9 {__version__}"]
