"""All rounding in hardware.

`decision` decides whether a magnitude rounds up. `hybrid` decides this for HiFloat8's hybrid mode. `rounder` turns
a normalised sum into its code, with flags and special results (`specials`). `facts` says which cases cannot occur,
so that no hardware is built for them.
"""
