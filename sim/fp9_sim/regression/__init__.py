"""Vectors in, verdict out."""

from fp9_sim.regression.both import Comparison, compare
from fp9_sim.regression.cached import regress_once
from fp9_sim.regression.gemm import check_tile
from fp9_sim.regression.run import Regression, regress, waves_kind

__all__ = ["Comparison", "Regression", "check_tile", "compare", "regress", "regress_once", "waves_kind"]
