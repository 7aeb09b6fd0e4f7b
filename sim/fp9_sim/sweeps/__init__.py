"""Compare a unit's Verilog with the golden model, for every input or a stratified sample."""

from fp9_sim.sweeps import executors
from fp9_sim.sweeps.plan import Plan, parse_range
from fp9_sim.sweeps.shrink import shrink
from fp9_sim.sweeps.sweep_record import Swept, swept
from fp9_sim.sweeps.sweep_run import Sweep, sweep

__all__ = ["Plan", "Sweep", "Swept", "executors", "parse_range", "shrink", "sweep", "swept"]
