"""Accumulator registers: one sum (`register`), chunks (`chunks`), exact sum (`kulisch`)."""
