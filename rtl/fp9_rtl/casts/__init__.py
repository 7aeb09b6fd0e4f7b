"""Units that convert between 8-bit formats and wider formats.

`cast` rounds a wide number once to an 8-bit format. `upcast` converts an 8-bit number exactly to a wider format.
`steps` is the datapath of a cast. `lanes` places several casts side by side.
"""
