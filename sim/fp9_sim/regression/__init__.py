"""Regressions that run golden vectors on a unit's Verilog. The module `gemm` checks tiles and is loaded on demand."""

from fp9_sim.regression.both import Comparison, compare
from fp9_sim.regression.cached import regress_once
from fp9_sim.regression.run import Regression, regress, waves_kind

__all__ = ["Comparison", "Regression", "compare", "gemm", "regress", "regress_once", "waves_kind"]
