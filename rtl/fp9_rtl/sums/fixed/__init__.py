"""Exact sums in fixed point: the places of all products side by side, the addend met in a window around them."""
