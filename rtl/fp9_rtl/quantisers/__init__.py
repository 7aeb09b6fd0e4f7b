"""Quantise blocks of numbers to elements with a shared scale: find the largest magnitude, derive the scale,
cast each.
"""
