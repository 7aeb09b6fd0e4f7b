"""Circuits from Yosys: words, modules, equal modules, and digests."""
