"""Accumulator registers: of one step (`register`), of chunk and total (`chunks`), and exact (`kulisch`)."""
