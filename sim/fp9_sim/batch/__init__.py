"""Call a unit as a function of NumPy arrays: its Verilog, compiled by Verilator, or its C model."""

from fp9_sim.batch.c_model import CModel
from fp9_sim.batch.compiled import FEW
from fp9_sim.batch.unit import Verilated, check, verilated

__all__ = ["FEW", "CModel", "Verilated", "check", "verilated"]
