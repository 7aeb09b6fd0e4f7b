"""Sweeps: a unit's Verilog against the golden model on every input, or on a stratified sample of a stated count.

`Plan` enumerates the inputs in shards, `sweep` runs them and adds a line to the signed-off record; from the
records `coverage` draws the page of what is checked and what is not.
"""

from fp9_sim.sweep.job import RECORDS, Sweep, sweep
from fp9_sim.sweep.page import coverage
from fp9_sim.sweep.plan import Plan, parse_range
from fp9_sim.sweep.shrink import shrink

__all__ = ["RECORDS", "Plan", "Sweep", "coverage", "parse_range", "shrink", "sweep"]
