"""Formal proofs about a unit's Verilog with SAT solvers and decision diagrams."""

from fp9_sim.netlists.solvers.solver import State
from fp9_sim.proofs.claims import claims_of
from fp9_sim.proofs.left import seconds_left
from fp9_sim.proofs.proof_run import (
    CASE_SECONDS,
    CaseRecord,
    ClaimRecord,
    ProofRecord,
    counterexample_text,
    decided,
    explain,
    prove,
)
from fp9_sim.proofs.specs.fpus.operand import Split, splits
from fp9_sim.proofs.text import TEXT_SECONDS, TextRecord, prove_text

__all__ = [
    "CASE_SECONDS",
    "TEXT_SECONDS",
    "CaseRecord",
    "ClaimRecord",
    "ProofRecord",
    "Split",
    "State",
    "TextRecord",
    "claims_of",
    "counterexample_text",
    "decided",
    "explain",
    "prove",
    "prove_text",
    "seconds_left",
    "splits",
]
