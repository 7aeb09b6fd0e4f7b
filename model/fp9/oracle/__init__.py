"""Slow exact reference (oracle) from the published papers, and threshold tables of casts."""
