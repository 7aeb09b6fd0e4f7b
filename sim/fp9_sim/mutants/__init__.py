"""Single errors drawn in a circuit, and the share of them that a suite notices."""

from fp9_sim.mutants.job import REQUIRED, Grade, SuiteGrade, grade

__all__ = ["REQUIRED", "Grade", "SuiteGrade", "grade"]
