"""fp9_sim: units simulated with golden vectors, in cocotb on two simulators and as compiled functions of arrays."""

from fp9_rtl.errors import MissingTool
from fp9_sim.batch import Verilated, check, verilated
from fp9_sim.comparison import Comparison, compare
from fp9_sim.regression import Regression, regress
from fp9_sim.scoreboard import Mismatch
from fp9_sim.tools import SIMULATORS, SimulatorError

__all__ = [
    "SIMULATORS",
    "Comparison",
    "Mismatch",
    "MissingTool",
    "Regression",
    "SimulatorError",
    "Verilated",
    "check",
    "compare",
    "regress",
    "verilated",
]
