"""Check third-party RTL (the DUT): map it to a unit specification by a TOML file, run the suites, explain
differences.
"""

from fp9_sim.third_party import area
from fp9_sim.third_party.check import Verdict, check_rtl
from fp9_sim.third_party.draft import draft
from fp9_sim.third_party.mapping import Design, load, spec_of

__all__ = ["Design", "Verdict", "area", "check_rtl", "draft", "load", "spec_of"]
