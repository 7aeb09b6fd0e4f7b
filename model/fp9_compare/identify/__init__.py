"""Identification of accumulators: finds the model that reproduces the results of hardware."""

from fp9_compare.identify.box import Box
from fp9_compare.identify.identification import Fit, fit
from fp9_compare.identify.interface import Interface
from fp9_compare.identify.loaders import load_box
from fp9_compare.identify.measured import Explained, fit_rows
from fp9_compare.identify.rows import Rows, read

__all__ = ["Box", "Explained", "Fit", "Interface", "Rows", "fit", "fit_rows", "load_box", "read"]
