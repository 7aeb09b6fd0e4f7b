"""Solvers for proof obligations about circuits: ABC, CaDiCaL, Yosys' SAT solver, and case splits."""
