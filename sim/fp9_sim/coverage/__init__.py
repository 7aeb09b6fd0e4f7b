"""Functional coverage: the cover points of a unit's specification that a suite hits."""

from fp9_sim.coverage.sampling import Covered, FunctionalCoverage, cover_points_digest, measure, model_of
from fp9_sim.coverage.suites import SUITES, of_suite

__all__ = [
    "SUITES",
    "Covered",
    "FunctionalCoverage",
    "cover_points_digest",
    "covergroups",
    "measure",
    "model_of",
    "of_suite",
]
