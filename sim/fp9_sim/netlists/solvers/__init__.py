"""Solvers for proofs about circuits: ABC, CaDiCaL, Yosys' SAT solver, case splits."""
