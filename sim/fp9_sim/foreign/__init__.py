"""Other people's RTL: mapped to a unit spec by a TOML file, run on the suites, its differences explained."""

from fp9_sim.foreign.check import Explanation, Verdict, check_rtl, explain
from fp9_sim.foreign.mapping import Foreign, load

__all__ = ["Explanation", "Foreign", "Verdict", "check_rtl", "explain", "load"]
