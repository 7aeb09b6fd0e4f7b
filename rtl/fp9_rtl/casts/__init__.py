"""Units that convert between 8-bit formats and wider formats.

The unit `cast` rounds a wide number once to an 8-bit format. The unit `upcast` converts an 8-bit number exactly to a
wider format. `cast_steps` builds the datapath of a cast. `lanes` places several casts side by side.
"""
