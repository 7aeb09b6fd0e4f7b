"""Exact sums in fixed point. Each product has its position in one wide field; a window around it holds the addend.

`steps` is the chain of stages. A Kulisch accumulator uses the parts (`sum`) and widths (`places`) on their own.
"""
