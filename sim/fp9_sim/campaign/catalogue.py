"""Every claim about a unit of which a record is kept."""

from fp9_sim.campaign.circuits import PROOF, SWEEP, TEXT
from fp9_sim.campaign.figures import AREA, BESIDE, ENERGY, STUDY
from fp9_sim.campaign.suites import CONSTANTS, FUNCTIONAL, GRADE, LAST, MAPPED, RECOUNT

CLAIMS = (TEXT, RECOUNT, FUNCTIONAL, PROOF, GRADE, LAST, MAPPED, CONSTANTS, AREA, ENERGY, STUDY, BESIDE, SWEEP)
"""They are shown, and a campaign asks for them, in this order."""
