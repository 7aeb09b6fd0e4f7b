"""One operation in detail: the circuit's intermediate fields by stage, with the exact terms of the model."""

from fp9_sim.trace.fields import Field, Trace, traced
from fp9_sim.trace.layout import save_file
from fp9_sim.trace.terms import exact_terms

__all__ = ["Field", "Trace", "exact_terms", "save_file", "traced"]
