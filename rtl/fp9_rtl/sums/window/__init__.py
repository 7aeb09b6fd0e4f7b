"""Sums whose terms are truncated to a window of fraction bits below the largest exponent.

`steps` is the chain of stages. The addend is added inside the window (`align`) or to the truncated sum of the
products (`beside`). In `interleaved`, even and odd products are summed first, then the addend is added.
"""
