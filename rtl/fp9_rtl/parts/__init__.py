"""Shared parts of all units.

A datapath is a chain of combinational stages (module `step`). Datapath stages pass layouts of named fields to each
other (`layouts`). The other modules contain shared logic: selection (`select`), shifters (`shifters`) and one's
complement sums (`end_around`). `condition` states which specifications have hardware.
"""
