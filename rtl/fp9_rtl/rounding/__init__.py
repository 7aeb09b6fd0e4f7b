"""The rounding decision, the facts that callers state, and the rounder."""
