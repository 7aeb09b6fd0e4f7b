"""Golden vectors: a unit's operations with expected results, as arrays and in files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.system.files import write_whole
from fp9.units import Port, Unit
from fp9.units import unit as find_unit
from fp9.vectors import mutation_scores
from fp9.vectors.encodings import FILE_FORMATS, Columns, FileFormat, port_dtype
from fp9.vectors.manifests import manifest, manifest_path, read_manifest

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class VectorSet:
    """Operations of a unit, and their expected results: one array (n,) for each port.

    The masks in `care` state which outputs are defined. For a unit with state, the operations form one sequence, which
    starts after reset. `origin` describes how the inputs were generated.
    """

    unit: Unit
    inputs: Mapping[str, NDArray[Any]]
    expected: Mapping[str, NDArray[Any]]
    care: Mapping[str, NDArray[np.bool_]]
    origin: Mapping[str, Any]

    def __len__(self) -> int:
        return len(next(iter(self.inputs.values())))

    @property
    def columns(self) -> tuple[Port, ...]:
        """Return the ports in the order in which a line of a vector file lists their values."""
        return (*self.unit.inputs, *self.unit.outputs)


def from_inputs(unit: Unit, inputs: Mapping[str, NDArray[Any]], origin: Mapping[str, Any] | None = None) -> VectorSet:
    """Compute the golden results for the given inputs, and return the vectors.

    Raises ValueError for missing or unknown ports, columns of unequal length, and values too wide for a port.
    """
    from fp9.golden import evaluate  # slow to load, and not needed by test benches that only read vectors

    _check_inputs(unit, inputs)
    columns = {port.name: np.asarray(inputs[port.name]).astype(port_dtype(port)) for port in unit.inputs}
    expected = evaluate(unit, columns)
    return VectorSet(unit, columns, expected, unit.care(expected), origin or {"suite": "given"})


def _check_inputs(unit: Unit, inputs: Mapping[str, NDArray[Any]]) -> None:
    names = [port.name for port in unit.inputs]
    if set(names) != set(inputs):
        raise ValueError(f"{unit.name}: columns {', '.join(sorted(inputs))} given; give {', '.join(names)}")
    if len({np.shape(column) for column in inputs.values()}) != 1 or np.ndim(inputs[names[0]]) != 1:
        raise ValueError(f"{unit.name}: columns of different shapes given; give one-dimensional ones of one length")
    count = len(inputs[names[0]])
    if count % unit.group:
        raise ValueError(f"{unit.name}: {count} operations given; a block is {unit.group}, give whole blocks")
    for port in unit.inputs:
        column = np.asarray(inputs[port.name])
        if column.dtype.kind not in "iu":
            raise ValueError(f"{unit.name}: column {port.name} holds {column.dtype.name}; give unsigned integers")
        if column.size and not 0 <= int(column.min()) <= int(column.max()) < 1 << port.width:
            raise ValueError(f"{unit.name}: column {port.name} holds a value that does not fit its {port.width} bits")


def generate(unit: Unit | str, suite: str = "smoke", count: int | None = None, seed: int = 0) -> VectorSet:
    """Return golden vectors with the operations of a unit's suite.

    - `smoke`: a few hundred operations.
    - `corner`: systematic operations.
    - `random`: `count` operations, 10,000 by default.
    - `full`: every input, or corner and random.

    Equal arguments give equal vectors. Raises ValueError for an unknown unit or suite.
    """
    from fp9.suites import inputs_of  # slow to load

    found = find_unit(unit)
    inputs = inputs_of(found, suite, count, seed)
    return from_inputs(found, inputs, {"suite": suite, "count": count, "seed": seed})


def concatenate(parts: list[VectorSet]) -> VectorSet:
    """Concatenate several vector sets of one unit, and compute their golden results as one sequence."""
    unit = parts[0].unit
    if any(part.unit != unit for part in parts):
        raise ValueError(f"vectors of different units given; all must be of {unit.name}")
    inputs = {port.name: np.concatenate([part.inputs[port.name] for part in parts]) for port in unit.inputs}
    return from_inputs(unit, inputs, {"suite": "concatenated", "parts": [dict(part.origin) for part in parts]})


# --- files ----------------------------------------------------------------------------------------------------------


def export(vectors: VectorSet, folder: Path | str, name: str | None = None, file_format: str = "vec") -> Path:
    """Write a vector file and its manifest, and return the path of the vector file.

    `name` defaults to the unit's name. An interrupted export leaves no partial file. Equal vectors give equal bytes.
    Raises ValueError for an unknown file format or a missing package, and OSError if the file cannot be written.
    """
    form = _file_format(file_format)
    path = Path(folder) / f"{name or vectors.unit.name}{form.suffix}"
    data = _encoded(vectors, form)
    score = mutation_scores.score_of(vectors.unit.name, digest(vectors))
    said = manifest(vectors.unit, form, len(vectors), vectors.origin, hashlib.sha256(data).hexdigest(), score)
    write_whole(path, data)
    write_whole(manifest_path(path), json.dumps(said, indent=1) + "\n")
    return path


def digest(vectors: VectorSet) -> str:
    """Return the SHA-256 digest of the vectors in the plain file format (`.vec`)."""
    return hashlib.sha256(_encoded(vectors, FILE_FORMATS["vec"])).hexdigest()


def _encoded(vectors: VectorSet, form: FileFormat) -> bytes:
    return form.encode(vectors.unit.name, vectors.columns, _masked(vectors))


def _file_format(name: str) -> FileFormat:
    if name not in FILE_FORMATS:
        raise ValueError(f"unknown file format {name!r}; choose one of {', '.join(FILE_FORMATS)}")
    return FILE_FORMATS[name]


def _masked(vectors: VectorSet) -> Columns:
    columns = {}
    for port in vectors.columns:
        given = port.name in vectors.inputs
        column = np.asarray(vectors.inputs[port.name] if given else vectors.expected[port.name], port_dtype(port))
        care = vectors.care.get(port.name)
        mask = np.ma.nomask if care is None or given or care.all() else ~care
        columns[port.name] = np.ma.masked_array(np.where(mask, 0, column).astype(column.dtype), mask)
    return columns


def form_of(path: Path) -> FileFormat:
    form = next((form for form in FILE_FORMATS.values() if form.suffix == path.suffix), None)
    if form is None:
        suffixes = ", ".join(form.suffix for form in FILE_FORMATS.values())
        raise ValueError(f"{path} is no vector file; give one that ends in {suffixes}")
    return form


def read(path: Path | str, unit: Unit | None = None) -> VectorSet:
    """Read a vector file that `export` wrote, and return its operations and expected results.

    The default of `unit` is the catalogue unit that the manifest names. Raises ValueError if the contents do not match
    the file format, and OSError if the file cannot be read.
    """
    path = Path(path)
    form = form_of(path)
    data = path.read_bytes()
    said = read_manifest(path)
    found = unit or find_unit(said["unit"])
    try:
        columns = form.decode(data, (*found.inputs, *found.outputs))
    except ValueError as error:
        raise ValueError(f"{path} holds no vectors of {found.name}: {error}") from None
    masks = {port.name: np.ma.getmaskarray(columns[port.name]) for port in found.outputs}
    care = {name: ~mask for name, mask in masks.items() if mask.any()}
    inputs = {port.name: columns[port.name].data for port in found.inputs}
    return VectorSet(found, inputs, {p.name: columns[p.name].data for p in found.outputs}, care, said["origin"])


__all__ = [
    "FILE_FORMATS",
    "VectorSet",
    "concatenate",
    "digest",
    "export",
    "from_inputs",
    "generate",
    "port_dtype",
    "read",
]
