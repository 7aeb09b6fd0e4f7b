"""Proofs about a unit's Verilog: every case of every claim decided, and a record of it."""

from fp9_sim.netlists.solver import State
from fp9_sim.proofs.job import CaseRecord, ClaimRecord, ProofRecord, explain, prove
from fp9_sim.proofs.text import TextRecord, prove_text

__all__ = ["CaseRecord", "ClaimRecord", "ProofRecord", "State", "TextRecord", "explain", "prove", "prove_text"]
