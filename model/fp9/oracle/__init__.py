"""Slow exact reference (oracle), written from papers, and threshold tables of casts."""
