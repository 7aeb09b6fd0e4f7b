"""Catalogue of claims about hardware units, with evidence from simulation, proofs, mutation tests and synthesis.
Evidence is stored in records, because measuring the evidence for all claims takes hours.
"""

from __future__ import annotations

import functools
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fp9.units import CATALOGUE, Unit
from fp9_sim import mutants, proofs, records
from fp9_sim.demo import operations
from fp9_sim.energy import data, study
from fp9_sim.evidence import areas
from fp9_sim.evidence.claim import Claim, Fields, Finding, State, in_catalogue, keep
from fp9_sim.proofs import claims_of
from fp9_sim.records import EARLIER_SUITE, Circuit
from fp9_sim.sweeps import swept

# --- claims about the function ----------------------------------------------------------------------------------------


def _swept(unit: Unit, folder: Path, fields: Fields, circuit: Circuit) -> Finding | None:
    found = swept(unit, folder, circuit.forms)
    if found.mismatches:
        return Finding(State.FAILS, f"{found.mismatches:,} mismatches")
    if found.plan.exhaustive and found.share < 1:
        return Finding(State.STALE, f"{100 * found.share:.3g} % of the inputs simulated")
    return None


SWEEP = Claim(
    records.SWEEP, "the circuit agrees with the golden model on every input, or on a stratified sample", _swept
)


def _proven(unit: Unit, folder: Path, fields: Fields, circuit: Circuit) -> Finding | None:
    cases = [case for claim in fields["claims"] for case in claim["cases"]]
    open_ones = [case for case in cases if case["state"] != proofs.State.PROVEN.value]
    if not open_ones and fields["proven"]:
        return None
    return Finding(State.FAILS, f"{len(open_ones)} of {len(cases)} cases not proven")


@functools.cache
def has_claims(unit: Unit) -> bool:
    try:
        return bool(claims_of(unit))
    except ValueError:
        return False


def _provable(unit: Unit) -> bool:
    return in_catalogue(unit) and has_claims(unit)


def _seconds_left(unit: Unit, folder: Path) -> float | None:
    known = ((other.kind, records.read(folder, records.PROOF, other.name)) for other in (unit, *CATALOGUE.values()))
    return proofs.seconds_left(unit, [(kind, fields) for kind, fields in known if fields])


def _prove(unit: Unit, limit: float) -> proofs.ProofRecord:
    return proofs.prove(unit, timeout=limit, jobs=1)


PROOF = Claim(
    records.PROOF,
    "values, handshake and order are those of the specification, for all inputs",
    _proven,
    _prove,
    functools.partial(keep, records.PROOF),
    _seconds_left,
    _provable,
)

# --- claims about the form --------------------------------------------------------------------------------------------


def _killed(unit: Unit, folder: Path, fields: Fields, circuit: Circuit) -> Finding | None:
    if not mutants.of_todays_suites(unit, fields):
        return Finding(State.STALE, EARLIER_SUITE)
    scores = {suite["suite"]: suite for suite in fields["suites"]}
    short = [
        _survival(suite, scores[suite]["survivors"])
        for suite, share in mutants.REQUIRED.items()
        if scores[suite]["rate"] < share
    ]
    return Finding(State.FAILS, ", ".join(short)) if short else None


def _survival(suite: str, survivors: list[dict[str, Any]]) -> str:
    if len(survivors) > 1:
        return f"{len(survivors)} mutants survive {suite}"
    (mutant,) = survivors
    return f"1 mutant survives {suite}: seed {mutant['seed']}, {mutant['level']} {mutant['number']}, {mutant['change']}"


def _mutate(kind: mutants.Kind, unit: Unit, limit: float) -> mutants.MutationScore:
    return mutants.score(unit, kind=kind, timeout=limit, proven=mutants.proven(unit, kind))


def _mutation(kind: mutants.Kind) -> Claim:
    return Claim(kind.claim, f"the suites kill {kind.says}", _killed, functools.partial(_mutate, kind), mutants.keep)


def _measured(unit: Unit, folder: Path, fields: Fields, circuit: Circuit) -> None:
    """Return None for every area record, because a measured area has no pass criterion."""


def _area(unit: Unit, limit: float) -> areas.Area:
    return areas.measure(unit)


AREA = Claim(
    records.AREA,
    "area and delay in two libraries",
    _measured,
    _area,
    functools.partial(keep, records.AREA),
)


def _with_energy(unit: Unit, folder: Path, fields: Fields, circuit: Circuit) -> Finding | None:
    same = fields["libraries"] == study.libraries()
    return None if same else Finding(State.STALE, "other libraries")


def _energy(unit: Unit, limit: float) -> study.Part:
    return study.measured(unit, operations.in_the_layer(data.COUNT)(unit))


def _keep_energy(part: study.Part, folder: Path) -> Path:
    fields: dict[str, Any] = asdict(part)
    return records.write(folder, records.ENERGY, fields)


def _in_study(unit: Unit) -> bool:
    return unit in study.UNITS.values()


ENERGY = Claim(
    records.ENERGY,
    "the energy of an operation in two libraries",
    _with_energy,
    _energy,
    _keep_energy,
    measures=_in_study,
)

CLAIMS = (SWEEP, PROOF, *map(_mutation, mutants.KINDS.values()), AREA, ENERGY)
"""All claims about units, in the order in which they are shown and updated."""
