"""Single errors drawn in a circuit, and the share of them that a suite notices."""

from fp9_sim.mutants.job import EQUIVALENCE_SECONDS, REQUIRED, Grade, SuiteGrade, grade
from fp9_sim.mutants.kept import keep, proven, read, suite_digest

__all__ = ["EQUIVALENCE_SECONDS", "REQUIRED", "Grade", "SuiteGrade", "grade", "keep", "proven", "read", "suite_digest"]
