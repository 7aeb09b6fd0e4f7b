"""Accumulator registers: one sum (`register`), chunk and total (`chunks`), and an exact sum (`kulisch`)."""
