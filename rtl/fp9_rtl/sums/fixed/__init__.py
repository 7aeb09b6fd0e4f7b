"""Exact sums in fixed point: each product is placed in one wide field, and the addend in a window around it.

`steps` is the chain of stages. A Kulisch accumulator uses the parts (`sum`) and widths (`places`) separately.
"""
