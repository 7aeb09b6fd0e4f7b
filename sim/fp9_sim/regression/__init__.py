"""Vectors in, verdict out. The module `gemm` checks tiles for matrix products; it is loaded when asked for."""

from fp9_sim.regression.both import Comparison, compare
from fp9_sim.regression.cached import regress_once
from fp9_sim.regression.run import Regression, regress, waves_kind

__all__ = ["Comparison", "Regression", "compare", "gemm", "regress", "regress_once", "waves_kind"]
