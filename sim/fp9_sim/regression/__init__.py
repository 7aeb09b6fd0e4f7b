"""Simulate a unit's Verilog with golden vectors and compare the results."""

from fp9_sim.regression.both import Comparison, compare
from fp9_sim.regression.cached import regress_once
from fp9_sim.regression.checks import Check, State, checks_of, passed, proof_checks, protocol_checks
from fp9_sim.regression.parts import neighbourhood
from fp9_sim.regression.reports import write_html, write_junit
from fp9_sim.regression.run import Regression, regress, waves_kind

__all__ = [
    "Check",
    "Comparison",
    "Regression",
    "State",
    "checks_of",
    "compare",
    "gemm",
    "neighbourhood",
    "passed",
    "proof_checks",
    "protocol_checks",
    "regress",
    "regress_once",
    "waves_kind",
    "write_html",
    "write_junit",
]
