"""Functional coverage of a unit's operations: what a suite meets of the situations that its spec has."""

from fp9_sim.coverage.sampling import Covered, FunctionalCoverage, measure, model_of, situations

__all__ = ["Covered", "FunctionalCoverage", "measure", "model_of", "situations"]
