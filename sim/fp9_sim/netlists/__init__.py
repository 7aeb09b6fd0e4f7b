"""Netlists of gates: evaluation, clocked simulation, glitches, toggle counts and proofs.

The package `graphs` builds, cuts and pairs circuits. The package `solvers` decides proof obligations about circuits.
"""

__all__ = ["aiger", "cells", "gates", "graphs", "solvers", "timed", "toggles"]
