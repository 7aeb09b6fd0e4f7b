"""Slow exact reference (oracle) that follows the published papers, and threshold tables of casts."""
