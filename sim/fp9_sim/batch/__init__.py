"""A unit as a function of arrays, compiled from its Verilog."""

from fp9_sim.batch.unit import Verilated, check, verilated

__all__ = ["Verilated", "check", "verilated"]
