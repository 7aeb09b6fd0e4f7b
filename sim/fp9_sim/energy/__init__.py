"""Measure the energy of a unit's operations from netlist activity and cell data."""

from fp9_sim.energy.run import NOTE, Energy, measure

__all__ = ["NOTE", "Energy", "data", "measure", "pages", "study", "switching"]
