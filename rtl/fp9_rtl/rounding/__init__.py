"""All rounding in hardware.

`decision` decides whether a magnitude rounds up, and `hybrid` does so for HiFloat8's hybrid mode. `rounder` turns a
normalised sum into its code, with flags and special results (`specials`). Callers state what cannot happen
(`facts`), so that no hardware is built for it.
"""
