"""Netlists of gates: evaluation, clocked simulation, glitches, toggle counts and proofs.

The package `graphs` builds and cuts circuits, and pairs an original circuit with mutants. The package `solvers`
contains the solvers for proof obligations about circuits.
"""

__all__ = ["aiger", "cells", "gates", "graphs", "solvers", "timed", "toggles"]
