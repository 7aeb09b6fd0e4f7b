"""Golden vectors: operations of a unit with their expected results, as one plain line of hex each.

A vector file `NAME.vec` has one operation a line: the inputs and then the outputs in port order, hex digits, separated
by blanks; an output that carries no meaning is written as `x`. Lines that start with `#` are comments. Beside it stands
`NAME.json`, the manifest: the unit's spec, the columns with their widths, the count, the SHA-256 of the vector file,
and how the inputs were made, so that `check` can make them again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9 import __version__
from fp9.files import write_whole
from fp9.stimulus import SUITES, inputs_of
from fp9.units import Port, Unit
from fp9.units import unit as find_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class VectorSet:
    """Operations of a unit: one array of shape (n,) for each port, and masks of the outputs that carry meaning.

    For a unit with state the operations are a sequence from reset. `origin` says how the inputs were made.
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
        """The ports in the order of a line."""
        return (*self.unit.inputs, *self.unit.outputs)


def from_inputs(unit: Unit, inputs: Mapping[str, NDArray[Any]], origin: Mapping[str, Any] | None = None) -> VectorSet:
    """Vectors of given inputs, the results computed by the golden model.

    Raises ValueError for ports that are missing or unknown, columns of unequal length and values too wide for a port.
    """
    _check_inputs(unit, inputs)
    columns = {port.name: np.asarray(inputs[port.name]).astype(port_dtype(port)) for port in unit.inputs}
    expected = unit.evaluate(columns)
    return VectorSet(unit, columns, expected, unit.care(expected), origin or {"suite": "given"})


def _check_inputs(unit: Unit, inputs: Mapping[str, NDArray[Any]]) -> None:
    names = [port.name for port in unit.inputs]
    if set(names) != set(inputs):
        raise ValueError(f"{unit.name}: columns {', '.join(sorted(inputs))} given; give {', '.join(names)}")
    if len({np.shape(column) for column in inputs.values()}) != 1 or np.ndim(inputs[names[0]]) != 1:
        raise ValueError(f"{unit.name}: columns of different shapes given; give one-dimensional ones of one length")
    for port in unit.inputs:
        column = np.asarray(inputs[port.name])
        if column.dtype.kind not in "iu":
            raise ValueError(f"{unit.name}: column {port.name} holds {column.dtype.name}; give unsigned integers")
        if column.size and not 0 <= int(column.min()) <= int(column.max()) < 1 << port.width:
            raise ValueError(f"{unit.name}: column {port.name} holds a value that does not fit its {port.width} bits")


def port_dtype(port: Port) -> np.dtype[Any]:
    """Smallest unsigned NumPy type for a port of at most 64 bits."""
    return np.dtype(
        np.uint8 if port.width <= 8 else np.uint16 if port.width <= 16 else np.uint32 if port.width <= 32 else np.uint64
    )


def generate(unit: Unit | str, suite: str = "smoke", count: int | None = None, seed: int = 0) -> VectorSet:
    """Vectors of a suite: `smoke` (hundreds), `corner` (systematic), `random` (`count`, 10,000 by default).

    The same arguments give the same vectors. Raises ValueError for an unknown unit or suite.
    """
    found = find_unit(unit)
    inputs = inputs_of(found, suite, count, seed)
    return from_inputs(found, inputs, {"suite": suite, "count": count, "seed": seed})


def concatenate(parts: list[VectorSet]) -> VectorSet:
    """The operations of several sets of one unit, one after the other; `care` and results are computed anew."""
    unit = parts[0].unit
    if any(part.unit != unit for part in parts):
        raise ValueError(f"vectors of different units given; all must be of {unit.name}")
    inputs = {port.name: np.concatenate([part.inputs[port.name] for part in parts]) for port in unit.inputs}
    return from_inputs(unit, inputs, {"suite": "concatenated", "parts": [dict(part.origin) for part in parts]})


# --- files ----------------------------------------------------------------------------------------------------------


def export(vectors: VectorSet, folder: Path | str, name: str | None = None) -> Path:
    """Write `NAME.vec` and its manifest `NAME.json` (NAME is the unit's) into a folder; returns the vector file.

    Files appear whole or not at all; the same vectors give the same bytes. Raises OSError where it cannot write.
    """
    path = Path(folder) / f"{name or vectors.unit.name}.vec"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join([*_heading(vectors), *_lines(vectors)]) + "\n"
    write_whole(path, text)
    write_whole(path.with_suffix(".json"), json.dumps(_manifest(vectors, text), indent=1) + "\n")
    return path


def _heading(vectors: VectorSet) -> list[str]:
    columns = " ".join(f"{port.name}[{port.width}]" for port in vectors.columns)
    return [f"# fp9 golden vectors of {vectors.unit.name}", f"# {columns}"]


def _lines(vectors: VectorSet) -> list[str]:
    columns = []
    for port in vectors.columns:
        digits = (port.width + 3) // 4
        column = vectors.inputs[port.name] if port.name in vectors.inputs else vectors.expected[port.name]
        texts = [f"{value:0{digits}x}" for value in column.tolist()]
        if port.name in vectors.care:
            care = vectors.care[port.name].tolist()
            texts = [text if cares else "x" * digits for text, cares in zip(texts, care, strict=True)]
        columns.append(texts)
    return [" ".join(row) for row in zip(*columns, strict=True)]


def _manifest(vectors: VectorSet, text: str) -> dict[str, Any]:
    return {
        "generator": f"fp9 {__version__}",
        "unit": vectors.unit.name,
        "spec": vectors.unit.describe(),
        "columns": [
            {"port": port.name, "width": port.width, "direction": "in" if port.name in vectors.inputs else "out"}
            for port in vectors.columns
        ],
        "count": len(vectors),
        "origin": dict(vectors.origin),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def read(path: Path | str, unit: Unit | None = None) -> VectorSet:
    """The vectors of a file written by `export`, with the expected results as the file has them.

    `unit` is looked up in the catalogue by the manifest when it is not given. Raises ValueError for a file that is not
    of the form or was changed, OSError where it cannot be read.
    """
    path = Path(path)
    text = path.read_text()
    manifest = read_manifest(path)
    found = unit or find_unit(manifest["unit"])
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return _from_rows(found, rows, path, manifest["origin"])


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest beside a vector file; ValueError where it is none."""
    side = path.with_suffix(".json")
    try:
        manifest = json.loads(side.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{side} is no vector manifest (line {error.lineno}: {error.msg}); export the vectors again"
        ) from None
    if not isinstance(manifest, dict) or not {"unit", "spec", "origin", "sha256", "count"} <= manifest.keys():
        raise ValueError(f"{side} is no vector manifest; export the vectors again")
    return manifest


def _from_rows(unit: Unit, rows: list[list[str]], path: Path, origin: Mapping[str, Any]) -> VectorSet:
    ports = (*unit.inputs, *unit.outputs)
    if not rows or any(len(row) != len(ports) for row in rows):
        raise ValueError(f"{path}: every line must have {len(ports)} columns for {unit.name}, and there must be one")
    values: dict[str, NDArray[Any]] = {}
    care: dict[str, NDArray[np.bool_]] = {}
    for port, column in zip(ports, zip(*rows, strict=True), strict=True):
        meaning = np.array([not cell.startswith("x") for cell in column])
        try:
            numbers = [int(cell, 16) if cares else 0 for cell, cares in zip(column, meaning, strict=True)]
        except ValueError:
            raise ValueError(f"{path}: column {port.name} holds something that is no hex number") from None
        if max(numbers) >> port.width:
            raise ValueError(f"{path}: column {port.name} holds a value wider than {port.width} bits")
        values[port.name] = np.array(numbers, dtype=port_dtype(port))
        if not meaning.all():
            care[port.name] = meaning
    inputs = {port.name: values[port.name] for port in unit.inputs}
    return VectorSet(unit, inputs, {port.name: values[port.name] for port in unit.outputs}, care, origin)


def check(path: Path | str, unit: Unit | None = None) -> int:
    """Count the vectors of a file after checking its digest, its spec and every expected result against the model.

    Raises ValueError with the first thing that differs, OSError where the file cannot be read.
    """
    path = Path(path)
    vectors = read(path, unit)
    manifest = read_manifest(path)
    if hashlib.sha256(path.read_bytes()).hexdigest() != manifest["sha256"]:
        raise ValueError(f"{path}: its SHA-256 is not that of the manifest; export the vectors again")
    if manifest["spec"] != vectors.unit.describe():
        raise ValueError(f"{path}: made for another spec of {vectors.unit.name}; export the vectors again")
    model = from_inputs(vectors.unit, vectors.inputs)
    for name, expected in model.expected.items():
        wrong = (expected != vectors.expected[name]) & model.care.get(name, np.True_)
        if wrong.any():
            index = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"{path}: vector {index} has {name} = {int(vectors.expected[name][index]):#x}, "
                f"and the model gives {int(expected[index]):#x}"
            )
    return len(vectors)


__all__ = ["SUITES", "VectorSet", "check", "concatenate", "export", "from_inputs", "generate", "port_dtype", "read"]
