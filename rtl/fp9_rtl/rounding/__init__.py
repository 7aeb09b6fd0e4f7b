"""All rounding in hardware.

`decision` decides whether a magnitude rounds up. `hybrid` makes the same decision for HiFloat8's hybrid mode. `rounder`
converts a normalised sum to its code and flags. `specials` encodes NaN and infinity. `facts` says which cases cannot
occur, so that the hardware can omit these cases.
"""
