"""Shared parts of all units.

A datapath is a chain of steps (`step`: `Step`, `Beside`, `chain`, `forward`) that pass layouts of named fields
(`layouts`). Steps use selection (`select`), shifters (`shifters`) and one's complement sums (`end_around`).
"""
