"""Units between 8-bit formats and wider ones: `cast`, rounded once, and `upcast`, exact.

`steps` is the datapath of a cast, `lanes` places several side by side, and `upcast` converts to the wider format.
"""
