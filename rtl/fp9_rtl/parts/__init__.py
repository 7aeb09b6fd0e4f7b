"""Shared parts of all units.

A datapath is a chain of combinational stages (module `step`). Datapath stages pass layouts of named fields to each
other (`layouts`). Shared logic is in the modules `select` (selection), `shifters` (shifts) and `end_around` (one's
complement sums). `condition` states which specifications have hardware.
"""
