"""Claims about circuits: what was swept, what is proven."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from fp9.units import CATALOGUE, Unit
from fp9_sim import proofs, records
from fp9_sim.campaign.claims import Claim, keep, seconds_of
from fp9_sim.proofs import State, claims_of
from fp9_sim.records import EARLIER_CIRCUIT, NO_RECORD
from fp9_sim.sweeps import swept

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


SWEEP = Claim(
    "sweep",
    "the circuit agrees with the model on every input, or on a stratified sample",
    records.SWEEPS,
    _unswept,
    _sweep_seconds,
)

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


PROOF = Claim(
    "proof",
    "values, handshake and order are those of the spec, for all inputs, where there are such claims",
    records.PROOFS,
    _unproven,
    _proof_seconds,
    _prove,
    keep,
    _proof_left,
)

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


def _tie(unit: Unit, limit: float) -> proofs.TextRecord:
    return proofs.prove_text(unit, timeout=limit)


TEXT = Claim(
    "text",
    "the Verilog handed out is the circuit, for all inputs",
    records.TEXTS,
    _untied,
    functools.partial(seconds_of, _text_record),
    _tie,
    keep,
)
