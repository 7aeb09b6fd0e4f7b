"""A unit as a function of arrays, compiled from its Verilog."""

from fp9_sim.batch.compiled import FEW
from fp9_sim.batch.unit import Verilated, check, verilated

__all__ = ["FEW", "Verilated", "check", "verilated"]
