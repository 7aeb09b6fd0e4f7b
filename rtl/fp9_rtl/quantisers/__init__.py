"""Quantise blocks of numbers to elements with a shared scale.

The datapath finds the largest magnitude, derives the scale from it, and casts each number.
"""
