"""Circuits as graphs: evaluated, compared, cut, counted."""
