"""Energy of a unit's operations, from what the nets of its mapped netlist do and what the library says of its cells.

Others use `measure` and its record `Energy`, and of its modules `data` (what it is measured over), `switching`
(what a netlist takes), `study` and `pages`.
"""

from fp9_sim.energy.run import NOTE, Energy, measure

__all__ = ["NOTE", "Energy", "data", "measure", "pages", "study", "switching"]
