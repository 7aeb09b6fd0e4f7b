"""fp9_sim: simulate hardware units against golden vectors.

cocotb test benches simulate units on Icarus Verilog or Verilator. Verilator also compiles units to functions of NumPy
arrays.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fp9.system.missing import MissingTool
    from fp9_sim.batch.unit import Verilated, check, verilated
    from fp9_sim.bench.scoreboard import Mismatch
    from fp9_sim.regression.both import Comparison, compare
    from fp9_sim.regression.run import Regression, regress
    from fp9_sim.simulators.find import SIMULATORS, SimulatorError

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

_HOMES = {
    "SIMULATORS": "fp9_sim.simulators.find",
    "Comparison": "fp9_sim.regression.both",
    "Mismatch": "fp9_sim.bench.scoreboard",
    "MissingTool": "fp9.system.missing",
    "Regression": "fp9_sim.regression.run",
    "SimulatorError": "fp9_sim.simulators.find",
    "Verilated": "fp9_sim.batch.unit",
    "check": "fp9_sim.batch.unit",
    "compare": "fp9_sim.regression.both",
    "regress": "fp9_sim.regression.run",
    "verilated": "fp9_sim.batch.unit",
}


def __getattr__(name: str) -> object:
    """Import a public name of this package on its first use, so that `--help` works even without a simulator."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no name {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)
