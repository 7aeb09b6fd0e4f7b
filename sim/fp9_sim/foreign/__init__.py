"""Other people's RTL: mapped to a unit spec by a TOML file, run on the suites, its differences explained."""

from fp9_sim.foreign import area
from fp9_sim.foreign.check import Verdict, check_rtl
from fp9_sim.foreign.draft import draft
from fp9_sim.foreign.mapping import Foreign, load, spec_of

__all__ = ["Foreign", "Verdict", "area", "check_rtl", "draft", "load", "spec_of"]
