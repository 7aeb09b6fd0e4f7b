"""Functional coverage: which cover points of a unit's specification a suite hits."""

from fp9_sim.coverage.sampling import Covered, FunctionalCoverage, cover_points_digest, measure, model_of

__all__ = ["Covered", "FunctionalCoverage", "cover_points_digest", "measure", "model_of"]
