"""What every unit is made of.

A datapath is a chain of steps (`step`: `Step`, `Beside`, `chain`, `forward`), and what travels between them is a layout
of named fields (`layouts`). Inside a step: choices (`select`), shifters (`shifters`), sums in one's complement
(`end_around`).
"""
