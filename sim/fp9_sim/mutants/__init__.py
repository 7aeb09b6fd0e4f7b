"""Mutation testing: random single errors in a circuit, and the fraction that a suite kills."""

from fp9_sim.mutants.kinds import KINDS, NETLIST, Kind
from fp9_sim.mutants.mutation_run import EQUIVALENCE_SECONDS, REQUIRED, MutationScore, SuiteScore, score
from fp9_sim.mutants.recorded import keep, of_todays_suites, proven, read, standing, suite_digest

__all__ = [
    "EQUIVALENCE_SECONDS",
    "KINDS",
    "NETLIST",
    "REQUIRED",
    "Kind",
    "MutationScore",
    "SuiteScore",
    "keep",
    "of_todays_suites",
    "proven",
    "read",
    "score",
    "standing",
    "suite_digest",
]
