"""Circuits as graphs: evaluated, compared, cut, counted.

Others use its modules `function` (a unit as a function of its data ports), `clocked` (with its registers), `tied` (its
handshake taken out), `gates` (evaluated), `cells` (run clock by clock), `timed` (with glitches), `equality` (compared),
`between` (cut between its steps), `solver` (decided by Yosys' SAT solver), `hard` (by CaDiCaL), `alike` and `abc` (by
ABC), `diagrams` (by its decision diagrams) and `toggles` (counted).
"""

__all__ = [
    "abc",
    "alike",
    "between",
    "cells",
    "clocked",
    "diagrams",
    "equality",
    "function",
    "gates",
    "hard",
    "solver",
    "tied",
    "timed",
    "toggles",
]
