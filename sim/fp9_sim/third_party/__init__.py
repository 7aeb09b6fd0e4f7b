"""Check third-party RTL (the DUT) against a unit specification, and explain the mismatches.

A TOML file maps the ports of the DUT to the ports of the specification.
"""

from fp9_sim.third_party import area, areas_chart, areas_page
from fp9_sim.third_party.check import Verdict, check_rtl
from fp9_sim.third_party.draft import Given, draft
from fp9_sim.third_party.mapping import Design, load, spec_of
from fp9_sim.third_party.proof import design_proof
from fp9_sim.third_party.sources import source_text
from fp9_sim.third_party.wrapper import wrapped

__all__ = [
    "Design",
    "Given",
    "Verdict",
    "area",
    "areas_chart",
    "areas_page",
    "check_rtl",
    "design_proof",
    "draft",
    "load",
    "source_text",
    "spec_of",
    "wrapped",
]
