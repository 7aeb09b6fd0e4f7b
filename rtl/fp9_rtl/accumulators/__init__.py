"""Accumulator registers: single sum (`register`), chunks (`chunks`), exact sum (`kulisch`)."""
