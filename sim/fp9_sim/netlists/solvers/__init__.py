"""Solvers for proofs about circuits: ABC, CaDiCaL, Yosys' SAT solver, and case splits."""
