"""Sweeps: a unit's Verilog against the golden model on every input, or on a stratified sample of a stated count.

`Plan` enumerates the inputs in shards, `sweep` runs them and adds a line to the signed-off record; from the
records `coverage` draws the page of what is checked and what is not.
"""

from fp9_sim.sweeps import executors
from fp9_sim.sweeps.page import COLUMNS, coverage, swept
from fp9_sim.sweeps.plan import Plan, parse_range
from fp9_sim.sweeps.shrink import shrink
from fp9_sim.sweeps.sweep_run import Sweep, sweep

__all__ = ["COLUMNS", "Plan", "Sweep", "coverage", "executors", "parse_range", "shrink", "sweep", "swept"]
