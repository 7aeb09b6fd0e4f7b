"""Measure the energy of a unit's operations, from its netlist's activity and the library's cell data.

Public names: `measure` and its record `Energy`. Public modules: `data` (operations to measure), `switching` (energy
of a netlist), `study` and `pages`.
"""

from fp9_sim.energy.run import NOTE, Energy, measure

__all__ = ["NOTE", "Energy", "data", "measure", "pages", "study", "switching"]
