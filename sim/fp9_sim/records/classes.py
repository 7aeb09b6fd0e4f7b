"""Store the list of a unit's circuits that are equivalent to the certified circuit.

The file `records/functions/UNIT.json` lists two digests of every circuit that is equivalent to the unit's certified
circuit. The digest `form` covers the circuit's cells. The digest `canonical` does not depend on the operand order of
commutative cells. A circuit counts as equivalent to the certified circuit if `UNIT.json` lists one of the circuit's
digests. When a solver proves that a changed circuit is equivalent, the function `join` adds the circuit's digests to
`UNIT.json`.
"""

from __future__ import annotations

import datetime
import json
import lzma
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9.system.files import write_whole
from fp9.units import Unit
from fp9_sim.netlists import aiger
from fp9_sim.netlists.aiger import Aiger
from fp9_sim.netlists.solvers.same import Comparison, compare
from fp9_sim.records.store import load

FUNCTIONS = "functions"


class Join(Enum):
    """The reason why a unit's circuit counts as equivalent to the certified circuit."""

    MEMBER = "same form"
    CANONICAL = "same canonical digest"
    PROOF = "equivalence proof"
    NONE = "not compared"


@dataclass(frozen=True)
class Circuit:
    """The present circuit of a unit. `forms` holds the SHA-256 digest of each equivalent circuit."""

    form: str
    canonical: str
    forms: frozenset[str]
    joined: Join


def circuit_of(unit: Unit, folder: Path) -> Circuit:
    """Return the digests of a unit's present circuit, and of all circuits that `folder` records as equivalent.

    Raises ValueError if fp9 cannot generate Verilog for the unit, and for a file that does not match the schema.
    """
    form, canonical = fp9_rtl.circuit_digest(unit), fp9_rtl.canonical_digest(unit)
    known = _read(folder, unit.name)
    if known is None or known["spec"] != unit.describe():
        return Circuit(form, canonical, frozenset({form}), Join.NONE)
    members = {member["form"]: member for member in known["forms"]}
    forms = frozenset({form, *members})
    if form in members:
        proven = members[form]["by"] == Join.PROOF.value
        return Circuit(form, canonical, forms, Join.PROOF if proven else Join.MEMBER)
    if canonical in {member["canonical"] for member in known["forms"]}:
        return Circuit(form, canonical, forms, Join.CANONICAL)
    return Circuit(form, canonical, frozenset({form}), Join.NONE)


def certify(unit: Unit, folder: Path) -> Path | None:
    """Store a unit's present circuit as the certified circuit of a new equivalence class, and return the file path.

    Return None if the recorded equivalence class already contains the present circuit.
    """
    circuit = circuit_of(unit, folder)
    if circuit.joined is not Join.NONE:
        return None
    data = aiger.of_unit(unit)
    path = _path(folder, unit.name)
    write_whole(path.with_suffix(".aig.xz"), lzma.compress(data, preset=9))
    member = {"form": circuit.form, "canonical": circuit.canonical, "by": "certified", "date": _today()}
    ports = list(Aiger.read(data).ports)
    _write(
        path,
        {
            "unit": unit.name,
            "spec": unit.describe(),
            "circuit": f"{unit.name}.aig.xz",
            "ports": ports,
            "forms": [member],
        },
    )
    return path


def join(unit: Unit, folder: Path, timeout: float) -> Comparison | None:
    """Check a unit's present circuit for equivalence with the certified circuit, and record a proven equivalence.

    Return None if no certified circuit is recorded, or if the present circuit is already recorded as equivalent. Raises
    ValueError for files that are not valid records.
    """
    circuit, known = circuit_of(unit, folder), _read(folder, unit.name)
    if known is None or known["spec"] != unit.describe() or circuit.joined in (Join.MEMBER, Join.PROOF):
        return None
    found = compare(certified(unit, folder), Aiger.read(aiger.of_unit(unit)), timeout)
    if found.proven:
        member = {
            "form": circuit.form,
            "canonical": circuit.canonical,
            "by": Join.PROOF.value,
            "tool": found.tool,
            "control": found.control.value,
            "seconds": found.seconds,
            "date": _today(),
        }
        _write(_path(folder, unit.name), {**known, "forms": [*known["forms"], member]})
    return found


def certified(unit: Unit, folder: Path) -> Aiger:
    """Return the certified circuit of a unit. Raises ValueError for a damaged file."""
    path = _path(folder, unit.name).with_suffix(".aig.xz")
    try:
        return Aiger.read(lzma.decompress(path.read_bytes()))
    except (lzma.LZMAError, ValueError, IndexError) as error:
        raise ValueError(f"{path} is no certified circuit ({error}); restore it from the repository") from None


def _path(folder: Path, unit: str) -> Path:
    return folder / FUNCTIONS / f"{unit}.json"


def _read(folder: Path, unit: str) -> dict[str, Any] | None:
    return load(_path(folder, unit), "class_schema", "restore it from the repository")


def _write(path: Path, known: dict[str, Any]) -> None:
    write_whole(path, json.dumps(known, indent=1) + "\n")


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()
