"""Netlists of gates: evaluation, clocked simulation, glitches, toggle counts and proofs."""

__all__ = ["aiger", "cells", "gates", "graphs", "solvers", "timed", "toggles"]
