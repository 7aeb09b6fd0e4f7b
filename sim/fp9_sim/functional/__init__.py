"""Functional coverage of a unit's suites: which cover points of its specification they hit, as records and a page."""

from fp9_sim.functional.page import COLUMNS, Row, draw
from fp9_sim.functional.record import Functional, covered, lacks, read

__all__ = ["COLUMNS", "Functional", "Row", "covered", "draw", "lacks", "read"]
