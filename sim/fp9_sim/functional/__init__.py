"""Functional coverage of a unit's suites: what they meet of the situations that its spec has, as records and a page."""

from fp9_sim.functional.page import COLUMNS, Row, draw
from fp9_sim.functional.record import Functional, covered, lacks, read

__all__ = ["COLUMNS", "Functional", "Row", "covered", "draw", "lacks", "read"]
