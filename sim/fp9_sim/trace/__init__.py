"""Trace one operation: the circuit's intermediate fields by stage, and the exact terms."""

from fp9_sim.trace.fields import Field, Trace, traced
from fp9_sim.trace.layout import save_file
from fp9_sim.trace.terms import exact_terms

__all__ = ["Field", "Trace", "exact_terms", "save_file", "traced"]
