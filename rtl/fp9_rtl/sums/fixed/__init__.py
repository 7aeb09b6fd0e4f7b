"""Exact sums in fixed point: every product in its place in one field, which the addend meets in a window around it.

`steps` is the chain of steps; a Kulisch accumulator takes its parts (`sum`) and its widths (`places`) one by one.
"""
