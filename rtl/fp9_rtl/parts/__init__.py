"""Shared parts of all units.

A datapath is a chain of steps (`step`: `Step`, `Beside`, `chain`, `forward`). Steps pass layouts of named fields
(`layouts`). They use selection (`select`), shifters (`shifters`) and one's complement sums (`end_around`).
"""
