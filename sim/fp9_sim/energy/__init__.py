"""Energy of a unit's operations, from what the nets of its mapped netlist do and what the library says of its cells."""

from fp9_sim.energy.run import NOTE, Energy, measure

__all__ = ["NOTE", "Energy", "measure"]
