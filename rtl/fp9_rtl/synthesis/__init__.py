"""Measure a unit's area and delay in standard cells, or its LUTs and clock frequency."""
