"""Measure the energy of a unit's operations from netlist activity and cell data.

The function `measure` returns a record of type `Energy`. The module `data` chooses operations, and the module
`switching` computes the energy of a netlist. The module `study` measures the energy study, and the module `pages` shows
the results.
"""

from fp9_sim.energy.run import NOTE, Energy, measure

__all__ = ["NOTE", "Energy", "data", "measure", "pages", "study", "switching"]
