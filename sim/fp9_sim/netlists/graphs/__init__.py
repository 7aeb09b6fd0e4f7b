"""Circuits as graphs of two-input ANDs: built from a unit, cut, paired, and without their handshake."""
