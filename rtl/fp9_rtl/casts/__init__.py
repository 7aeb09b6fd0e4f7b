"""Units between the 8-bit formats and wider ones: `cast`, rounded once, and `upcast`, exact.

`steps` is the datapath of a cast, `lanes` several of them side by side, `upcast` the other way.
"""
