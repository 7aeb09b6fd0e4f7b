"""What a unit should have a record of: each claim with what it owes, what it costs, and how its record is made.

A record pays a claim where it is of the circuit that the unit has today and says that the claim holds. One that says
that it does not hold, or that it was not decided within the limit of time that it was given, is a debt that making it
again in the same way does not pay: it is named and left.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9.units import CATALOGUE, Unit
from fp9_sim import areas, mutants, proofs, records, recounts
from fp9_sim.proofs import State, claims_of
from fp9_sim.records import EARLIER_CIRCUIT, NO_RECORD
from fp9_sim.sweeps import swept


@dataclass(frozen=True)
class Claim:
    """A kind of evidence.

    `lacks` says of a unit, the folder of all records and the digest of its circuit what is owed, None where nothing is,
    and whether making the record pays it. `seconds` is what an earlier record took, None where none says; `left`, where
    a record is made in pieces that are kept, what the others will take. `make` gives the result, in any process, within
    a limit of seconds for one case; `keep` writes its record. Both are None for what is made by processes of its own.
    """

    name: str
    says: str
    folder: str
    lacks: Callable[[Unit, Path, str], tuple[str, bool] | None]
    seconds: Callable[[Unit, Path], float | None]
    make: Callable[[Unit, float], Any] | None = None
    keep: Callable[[Any, Path], Path] | None = None
    left: Callable[[Unit, Path], float | None] | None = None


@dataclass(frozen=True)
class Debt:
    """What a unit owes: the claim, why, whether making its record pays it, and the seconds that this may take.

    `seconds` is what is left by the pieces that are kept, where the claim says so, else that of the unit's earlier
    record, else the median of the records of its kind, else of all; None where no record says.
    """

    unit: Unit
    claim: Claim
    why: str
    payable: bool
    seconds: float | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "unit": self.unit.name,
            "claim": self.claim.name,
            "why": self.why,
            "payable": self.payable,
            "seconds": self.seconds,
        }


def owed(
    units: Iterable[Unit],
    folder: Path,
    claims: Sequence[Claim] | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> list[Debt]:
    """Everything that units owe by the records in `folder`, the most valuable first.

    That is what was never shown, before what was shown of an earlier circuit or suite, before what cannot be paid; in
    each the cheapest first, as it pays most in an hour. Raises ValueError for a file that is no record.
    """
    chosen, every = list(units), list(CLAIMS if claims is None else claims)
    debts = []
    known = {claim.name: {unit: claim.seconds(unit, folder) for unit in chosen} for claim in every}
    for done, unit in enumerate(chosen):
        progress(unit.name, done, len(chosen))
        digest = fp9_rtl.circuit_digest(unit)
        for claim in every:
            found = claim.lacks(unit, folder, digest)
            if found:
                left = claim.left(unit, folder) if claim.left else None
                seconds = _estimate(unit, known[claim.name]) if left is None else left
                debts.append(Debt(unit, claim, *found, seconds))
    return sorted(debts, key=_rank)


def _rank(debt: Debt) -> tuple[bool, bool, float]:
    return (not debt.payable, debt.why != NO_RECORD, float("inf") if debt.seconds is None else debt.seconds)


def _estimate(unit: Unit, known: Mapping[Unit, float | None]) -> float | None:
    if known[unit] is not None:
        return known[unit]
    alike = [seconds for other, seconds in known.items() if other.kind == unit.kind and seconds is not None]
    every = [seconds for seconds in known.values() if seconds is not None]
    return statistics.median(alike or every) if every else None


# --- sweeps -----------------------------------------------------------------------------------------------------------


def _unswept(unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    found = swept(unit, folder, digest)
    if not found.runs:
        return (EARLIER_CIRCUIT if found.earlier else NO_RECORD), True
    if found.mismatches:
        return f"{found.mismatches:,} mismatches", False
    if found.plan.exhaustive and found.share < 1:
        return f"{100 * found.share:.3g} % of the inputs met", True
    return None


def _sweep_seconds(unit: Unit, folder: Path) -> float | None:
    """What a whole sweep takes, by the share that is there."""
    found = swept(unit, folder, None)
    share = found.share if found.plan.exhaustive else 1
    return sum(run["seconds"] for run in found.runs) / share if found.runs and share else None


# --- proofs -----------------------------------------------------------------------------------------------------------


def _unproven(unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    record = _proof_record(unit, folder)
    if record is None:
        return (NO_RECORD, True) if _has_claims(unit) else None
    if record.get("circuit_sha256") != digest:
        return EARLIER_CIRCUIT, True
    cases = [case for claim in record["claims"] for case in claim["cases"]]
    open_ones = [case for case in cases if case["state"] != State.PROVEN.value]
    if not open_ones and record["proven"]:
        return None
    return f"{len(open_ones)} of {len(cases)} cases not proven", False


def _proof_record(unit: Unit, folder: Path) -> dict[str, Any] | None:
    return records.read(folder / records.PROOFS, unit.name, {"proven", "claims"}, "prove")


def _has_claims(unit: Unit) -> bool:
    try:
        return bool(claims_of(unit))
    except ValueError:
        return False


def _proof_seconds(unit: Unit, folder: Path) -> float | None:
    record = _proof_record(unit, folder)
    return sum(claim["seconds"] for claim in record["claims"]) if record else None


def _proof_left(unit: Unit, folder: Path) -> float | None:
    known = ((other.kind, _proof_record(other, folder)) for other in CATALOGUE.values())
    return proofs.seconds_left(unit, [(kind, record) for kind, record in known if record])


def _prove(unit: Unit, limit: float) -> proofs.ProofRecord:
    return proofs.prove(unit, timeout=limit, jobs=1)


def _keep(made: Any, folder: Path) -> Path:
    return records.write(folder, made.unit, made.to_dict())


# --- texts ------------------------------------------------------------------------------------------------------------


def _untied(unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    record = _text_record(unit, folder)
    if record is None:
        return NO_RECORD, True
    if record["circuit_sha256"] != digest:
        return EARLIER_CIRCUIT, True
    return None if record["proven"] else (f"{record['state']}, its control {record['control']}", False)


def _text_record(unit: Unit, folder: Path) -> dict[str, Any] | None:
    needed = {"proven", "circuit_sha256", "state", "control", "seconds"}
    return records.read(folder / records.TEXTS, unit.name, needed, "prove --text")


def _text_seconds(unit: Unit, folder: Path) -> float | None:
    record = _text_record(unit, folder)
    return record["seconds"] if record else None


def _tie(unit: Unit, limit: float) -> proofs.TextRecord:
    return proofs.prove_text(unit, timeout=limit)


# --- grades -----------------------------------------------------------------------------------------------------------


def _ungraded(kind: mutants.Kind, unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    record, why = mutants.standing(unit, kind, folder, digest)
    if record is None or why:
        return why or NO_RECORD, True
    graded = {suite["suite"]: suite for suite in record["suites"]}
    short = [
        f"{suite} misses {len(graded[suite]['survivors'])}"
        for suite, share in mutants.REQUIRED.items()
        if graded[suite]["rate"] < share
    ]
    return (", ".join(short), False) if short else None


def _grade_seconds(kind: mutants.Kind, unit: Unit, folder: Path) -> float | None:
    record = mutants.read(folder / kind.folder, unit.name, kind)
    return record.get("seconds") if record else None


def _grade(kind: mutants.Kind, unit: Unit, limit: float) -> mutants.Grade:
    return mutants.grade(unit, kind=kind, timeout=limit, proven=mutants.proven(unit, kind))


def _grading(name: str, kind: mutants.Kind) -> Claim:
    return Claim(
        name,
        f"the suites notice {kind.says}",
        kind.folder,
        functools.partial(_ungraded, kind),
        functools.partial(_grade_seconds, kind),
        functools.partial(_grade, kind),
        mutants.keep,
    )


# --- recounts ---------------------------------------------------------------------------------------------------------


def _not_recounted(unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    return recounts.lacks(unit, folder)


def _recount_seconds(unit: Unit, folder: Path) -> float | None:
    record = recounts.read(unit, folder)
    return record["seconds"] if record else None


def _recount(unit: Unit, limit: float) -> recounts.Recount:
    return recounts.recount(unit)


# --- areas ------------------------------------------------------------------------------------------------------------


def _unmeasured(unit: Unit, folder: Path, digest: str) -> tuple[str, bool] | None:
    record = areas.read(unit, folder)
    if record is None:
        return NO_RECORD, True
    return None if record["circuit_sha256"] == digest else (EARLIER_CIRCUIT, True)


def _area_seconds(unit: Unit, folder: Path) -> float | None:
    record = areas.read(unit, folder)
    return record["seconds"] if record else None


def _measure(unit: Unit, limit: float) -> areas.Area:
    return areas.measure(unit)


CLAIMS = (
    Claim(
        "text",
        "the Verilog handed out is the circuit, for all inputs",
        records.TEXTS,
        _untied,
        _text_seconds,
        _tie,
        _keep,
    ),
    Claim(
        "recount",
        "the results of the vectors, counted again in exact fractions without golden model and kernels",
        records.RECOUNTS,
        _not_recounted,
        _recount_seconds,
        _recount,
        _keep,
    ),
    Claim(
        "proof",
        "values, handshake and order are those of the spec, for all inputs, where there are such claims",
        records.PROOFS,
        _unproven,
        _proof_seconds,
        _prove,
        _keep,
        _proof_left,
    ),
    _grading("grade", mutants.NETLIST),
    _grading("mapped", mutants.KINDS["mapped"]),
    _grading("constants", mutants.KINDS["constants"]),
    Claim(
        "area",
        "area and delay in two libraries, as its data sheet states them",
        records.AREAS,
        _unmeasured,
        _area_seconds,
        _measure,
        _keep,
    ),
    Claim(
        "sweep",
        "the circuit agrees with the model on every input, or on a stratified sample",
        records.SWEEPS,
        _unswept,
        _sweep_seconds,
    ),
)
"""Every claim about a unit of which a record is kept."""
