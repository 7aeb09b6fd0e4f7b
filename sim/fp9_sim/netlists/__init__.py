"""Circuits as graphs: evaluated, compared, cut, counted.

Others use its modules `function` (a unit as a function of its data ports), `clocked` (with its registers), `gates`
(evaluated), `equality` (compared), `solver` (decided by SAT) and `toggles` (counted).
"""

__all__ = ["clocked", "equality", "function", "gates", "solver", "toggles"]
