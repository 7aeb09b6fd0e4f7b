"""Which accumulator a unit is: probes of a black box or measured rows, and the engines that explain them."""

from fp9.fit.box import Box
from fp9.fit.interface import Interface
from fp9.fit.job import Fit, fit
from fp9.fit.measured import Explained, fit_rows
from fp9.fit.opened import opened
from fp9.fit.rows import Rows, read

__all__ = ["Box", "Explained", "Fit", "Interface", "Rows", "fit", "fit_rows", "opened", "read"]
