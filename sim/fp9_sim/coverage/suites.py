"""Functional coverage of a unit's test suites, measured with the outputs of the golden model."""

from __future__ import annotations

from fp9.units import Unit
from fp9.vectors import sets as vectors
from fp9_sim.coverage.sampling import FunctionalCoverage, measure

SUITES = ("smoke", "corner")
"""Suites whose coverage is measured. The corner suite should hit every bin."""


def of_suite(unit: Unit, suite: str) -> FunctionalCoverage:
    """Return the functional coverage of a unit's suite.

    Raises ValueError for a kind of unit without a coverage model.
    """
    made = vectors.generate(unit, suite)
    return measure(unit, made.inputs, made.expected)
