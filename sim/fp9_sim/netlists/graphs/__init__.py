"""Circuits as graphs of AND gates: construction, cuts, pairs, and removal of the handshake."""
