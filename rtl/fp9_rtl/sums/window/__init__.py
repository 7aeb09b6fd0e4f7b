"""Sums whose terms are cut to a window of fraction bits below the largest exponent.

`steps` is the chain of steps, by where the addend meets the products: in the window (`align`), beside the cut sum
(`beside`), or behind interleaved sums of even and odd products (`interleaved`).
"""
