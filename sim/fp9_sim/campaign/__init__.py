"""Campaigns: what the records owe to the circuits of today, and its making, most valuable first."""

from fp9_sim.campaign.catalogue import CLAIMS
from fp9_sim.campaign.claims import Claim
from fp9_sim.campaign.debts import Debt, owed
from fp9_sim.campaign.job import Ended, campaign
from fp9_sim.campaign.sample import Sample, samples

__all__ = ["CLAIMS", "Claim", "Debt", "Ended", "Sample", "campaign", "owed", "samples"]
