"""Solvers of obligations about circuits: ABC, CaDiCaL, Yosys' SAT solver, and case splits."""
