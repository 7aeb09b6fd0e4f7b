"""Netlists: evaluated (`gates`), run clock by clock (`cells`), with glitches (`timed`), counted (`toggles`).

`graphs` builds, cuts and pairs circuits; `solvers` decides obligations about them.
"""

__all__ = ["aiger", "cells", "gates", "graphs", "solvers", "timed", "toggles"]
