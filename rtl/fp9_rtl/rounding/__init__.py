"""All rounding in hardware.

`decision` decides whether a magnitude rounds up. `hybrid` decides whether a magnitude rounds up in HiFloat8's hybrid
mode. `rounder` converts a normalised sum to its code and flags. `specials` encodes NaN and infinity. `facts` derives
which rounding cases cannot occur, so that no hardware is built for them.
"""
