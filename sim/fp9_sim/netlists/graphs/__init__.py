"""Circuits as graphs of two-input ANDs: construction from a unit, cuts, pairs, and removal of the handshake."""
