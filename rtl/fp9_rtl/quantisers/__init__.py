"""Quantise blocks of numbers to elements with a shared scale, in hardware."""
