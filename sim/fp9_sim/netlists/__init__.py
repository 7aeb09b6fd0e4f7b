"""Netlists: evaluation (`gates`), clocked simulation (`cells`), glitches (`timed`) and toggle counts (`toggles`).

`graphs` builds, cuts and pairs circuits. `solvers` decides proof obligations about circuits.
"""

__all__ = ["aiger", "cells", "gates", "graphs", "solvers", "timed", "toggles"]
