"""Golden vectors: operations of a unit with their expected results, in files for test benches and for programs.

A vector file has one operation a line or row: the inputs and then the outputs in port order (`encodings` has the
forms; the plain one, `NAME.vec`, is blank-separated hex). Beside it stands the manifest, `NAME.json` (`NAME.csv.json`
and so on for the other forms): the unit's spec and policy switches, the columns with their widths, the count, the
SHA-256 of the file, how the inputs were made, so that `check` can make them again, and the share of single errors in
the unit's circuit that the suite notices (`grades`), where that was measured.
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
from fp9.golden import evaluate
from fp9.rounding import NanSign
from fp9.suites import SUITES, inputs_of
from fp9.system.files import write_whole
from fp9.units import Cast, Dot, Fpu, Port, Quantiser, Unit
from fp9.units import unit as find_unit
from fp9.vectors import grades
from fp9.vectors.encodings import FILE_FORMATS, Columns, FileFormat, port_dtype

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
    expected = evaluate(unit, columns)
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


def generate(unit: Unit | str, suite: str = "smoke", count: int | None = None, seed: int = 0) -> VectorSet:
    """Vectors of a suite: `smoke` (hundreds), `corner` (systematic), `random` (`count`, 10,000 by default), `full`.

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


def export(vectors: VectorSet, folder: Path | str, name: str | None = None, file_format: str = "vec") -> Path:
    """Write a vector file called `name` (the unit's name without it) and its manifest; returns the vector file's path.

    Files appear whole or not at all; the same vectors give the same bytes. Raises ValueError for an unknown file format
    and where its package is not installed, OSError where it cannot write.
    """
    form = _file_format(file_format)
    path = Path(folder) / f"{name or vectors.unit.name}{form.suffix}"
    data = _encoded(vectors, form)
    manifest = json.dumps(_manifest(vectors, data), indent=1) + "\n"
    write_whole(path, data)
    write_whole(manifest_path(path), manifest)
    return path


def digest(vectors: VectorSet) -> str:
    """SHA-256 of the operations and their results, as the plain form (`.vec`) has them."""
    return hashlib.sha256(_encoded(vectors, FILE_FORMATS["vec"])).hexdigest()


def _encoded(vectors: VectorSet, form: FileFormat) -> bytes:
    return form.encode(vectors.unit.name, vectors.columns, _masked(vectors))


def _file_format(name: str) -> FileFormat:
    if name not in FILE_FORMATS:
        raise ValueError(f"unknown file format {name!r}; choose one of {', '.join(FILE_FORMATS)}")
    return FILE_FORMATS[name]


def _masked(vectors: VectorSet) -> Columns:
    """The columns, outputs without meaning masked and zero."""
    columns = {}
    for port in vectors.columns:
        given = port.name in vectors.inputs
        column = np.asarray(vectors.inputs[port.name] if given else vectors.expected[port.name], port_dtype(port))
        care = vectors.care.get(port.name)
        mask = np.ma.nomask if care is None or given or care.all() else ~care
        columns[port.name] = np.ma.masked_array(np.where(mask, 0, column).astype(column.dtype), mask)
    return columns


def _manifest(vectors: VectorSet, data: bytes) -> dict[str, Any]:
    return {
        "generator": f"fp9 {__version__}",
        "unit": vectors.unit.name,
        "spec": vectors.unit.describe(),
        "policies": policies(vectors.unit),
        "columns": [
            {"port": port.name, "width": port.width, "direction": "in" if port.name in vectors.inputs else "out"}
            for port in vectors.columns
        ],
        "count": len(vectors),
        "origin": dict(vectors.origin),
        "sha256": hashlib.sha256(data).hexdigest(),
        "grade": grades.grade_of(vectors.unit.name, digest(vectors)),
    }


def policies(unit: Unit) -> dict[str, Any]:
    """The switches that decide a unit's results beside its formats, as a reader of its vectors needs them."""
    if isinstance(unit, Cast):
        policy = unit.policy(unit.targets[0], unit.roundings[0], unit.overflow[0])
        return {
            "roundings": [rounding.value for rounding in unit.roundings],
            "overflow": [overflow.value for overflow in unit.overflow],
            "nan_to_zero": policy.nan_to_zero,
            "inf_clip": policy.inf_clip,
            **({} if policy.nan_sign is NanSign.KEPT else {"nan_sign": policy.nan_sign.value}),
            "hybrid": "up where F >= T, certain overflow from 40960",
            "tininess": "after rounding",
        }
    if isinstance(unit, Dot | Fpu):
        return {
            "rounding": unit.engine.rounding.value,
            "overflow": unit.engine.overflow.value,
            "zero_bypass": unit.engine.zero_bypass,
            "nan": "canonical",
            "tininess": "after rounding",
        }
    if isinstance(unit, Quantiser):
        return {
            "rules": [rule.name for rule in unit.rules],
            "rounding": unit.block.rounding.value,
            "overflow": "saturate",
            "nan": "an infinity or NaN makes the scale NaN and all elements 0",
        }
    return {"overflow": "inf", "nan": "canonical"}


def manifest_path(path: Path) -> Path:
    """Where a vector file's manifest stands."""
    return path.with_suffix(".json") if path.suffix == ".vec" else path.with_name(f"{path.name}.json")


def read(path: Path | str, unit: Unit | None = None) -> VectorSet:
    """The vectors of a file written by `export`, with the expected results as the file has them.

    `unit` is looked up in the catalogue by the manifest when it is not given. Raises ValueError for a file that is not
    of the form or was changed, OSError where it cannot be read.
    """
    path = Path(path)
    form = next((form for form in FILE_FORMATS.values() if form.suffix == path.suffix), None)
    if form is None:
        suffixes = ", ".join(form.suffix for form in FILE_FORMATS.values())
        raise ValueError(f"{path} is no vector file; give one that ends in {suffixes}")
    data = path.read_bytes()
    manifest = read_manifest(path)
    found = unit or find_unit(manifest["unit"])
    try:
        columns = form.decode(data, (*found.inputs, *found.outputs))
    except ValueError as error:
        raise ValueError(f"{path} holds no vectors of {found.name}: {error}") from None
    masks = {port.name: np.ma.getmaskarray(columns[port.name]) for port in found.outputs}
    care = {name: ~mask for name, mask in masks.items() if mask.any()}
    inputs = {port.name: columns[port.name].data for port in found.inputs}
    return VectorSet(found, inputs, {p.name: columns[p.name].data for p in found.outputs}, care, manifest["origin"])


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest beside a vector file; ValueError where it is none."""
    side = manifest_path(path)
    try:
        manifest = json.loads(side.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError(f"{side} is no vector manifest; export the vectors again") from None
    texts = {"unit": str, "spec": list, "origin": dict, "sha256": str, "count": int}
    if not isinstance(manifest, dict) or not all(isinstance(manifest.get(k), kind) for k, kind in texts.items()):
        raise ValueError(f"{side} is no vector manifest; export the vectors again")
    return manifest


def check(path: Path | str, unit: Unit | None = None) -> int:
    """Count the vectors of a file after checking its digest, its spec, its inputs and every expected result.

    The inputs of a suite are made again and compared; the expected results are those of the model.
    Raises ValueError with the first thing that differs, OSError where the file cannot be read.
    """
    path = Path(path)
    vectors = read(path, unit)
    manifest = read_manifest(path)
    if hashlib.sha256(path.read_bytes()).hexdigest() != manifest["sha256"]:
        raise ValueError(f"{path}: its SHA-256 is not that of the manifest; export the vectors again")
    if manifest["spec"] != vectors.unit.describe():
        raise ValueError(f"{path}: made for another spec of {vectors.unit.name}; export the vectors again")
    if manifest["count"] != len(vectors):
        raise ValueError(f"{path}: holds {len(vectors)} operations, its manifest says {manifest['count']}")
    model = from_inputs(vectors.unit, vectors.inputs)
    for name, expected in model.expected.items():
        wrong = (expected != vectors.expected[name]) & model.care.get(name, np.True_)
        if wrong.any():
            index = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"{path}: vector {index} has {name} = {int(vectors.expected[name][index]):#x}, "
                f"and the model gives {int(expected[index]):#x}"
            )
    _check_origin(path, vectors)
    return len(vectors)


def _check_origin(path: Path, vectors: VectorSet) -> None:
    """Make the inputs of a suite again; those that were given or joined have no other source."""
    origin = vectors.origin
    if origin.get("suite") not in SUITES:
        return
    again = inputs_of(vectors.unit, origin["suite"], origin.get("count"), origin.get("seed", 0))
    for name, column in again.items():
        if len(column) != len(vectors) or (column != vectors.inputs[name]).any():
            raise ValueError(
                f"{path}: its inputs are not those of suite {origin['suite']} of fp9 {__version__}; "
                "export the vectors again"
            )


__all__ = [
    "FILE_FORMATS",
    "SUITES",
    "VectorSet",
    "check",
    "concatenate",
    "digest",
    "export",
    "from_inputs",
    "generate",
    "policies",
    "port_dtype",
    "read",
]
