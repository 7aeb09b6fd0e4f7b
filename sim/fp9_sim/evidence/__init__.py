"""Manage evidence about hardware units: claims, records, and updates of stale records."""

from fp9_sim.evidence.catalogue import CLAIMS
from fp9_sim.evidence.claim import Claim, Finding, State, keep
from fp9_sim.evidence.sample import Sample, samples
from fp9_sim.evidence.status import Item, certified, certified_names, status, summary
from fp9_sim.evidence.update import Ended, joined, update

__all__ = [
    "CLAIMS",
    "Claim",
    "Ended",
    "Finding",
    "Item",
    "Sample",
    "State",
    "certified",
    "certified_names",
    "joined",
    "keep",
    "measurements",
    "samples",
    "site",
    "status",
    "studies",
    "summary",
    "update",
]
