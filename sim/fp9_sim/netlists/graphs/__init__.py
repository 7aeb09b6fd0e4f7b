"""Circuits as graphs of AND gates: construction, cuts, equivalence checks, handshake."""
