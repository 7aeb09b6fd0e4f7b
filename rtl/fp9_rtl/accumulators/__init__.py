"""Accumulator registers for one sum (`register`), for chunks and their total (`chunks`), and for an exact sum
(`kulisch`).
"""
