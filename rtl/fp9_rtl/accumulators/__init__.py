"""Registers that a sum loops through: of one step (`register`), of chunk and total (`chunks`), exact (`kulisch`)."""
