"""Data sheets of units, with block diagrams and timing diagrams.

`sheet` writes the data sheets, `diagram` draws block diagrams, and `timing` draws timing diagrams.
"""
