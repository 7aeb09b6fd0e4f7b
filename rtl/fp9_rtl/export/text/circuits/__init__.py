"""Circuits as Yosys gives them: words, modules, equal modules, and digests."""
