"""Sums whose terms are truncated to a window of fraction bits below the largest exponent.

`steps` is the chain of stages. The addend joins inside the window (`align`), beside the truncated sum (`beside`),
or after the interleaved sums of even and odd products (`interleaved`).
"""
