"""Compile a unit's Verilog and call the unit as a function of NumPy arrays."""

from fp9_sim.batch.compiled import FEW
from fp9_sim.batch.unit import Verilated, check, verilated

__all__ = ["FEW", "Verilated", "check", "verilated"]
