"""Circuits as graphs: evaluated, compared, cut, counted.

Others use its modules `function` (a unit as a function of its data ports), `clocked` (with its registers), `gates`
(evaluated), `cells` (run clock by clock), `timed` (with glitches), `equality` (compared), `solver`
(decided by SAT) and `toggles` (counted).
"""

__all__ = ["cells", "clocked", "equality", "function", "gates", "solver", "timed", "toggles"]
