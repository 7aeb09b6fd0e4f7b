"""Simulators: found, built for, run.

Others use its modules `find` (a simulator and its version), `build` (a design for it), `child` (a step of its runner)
and `objects` (compiled parts that builds share). They stand alone, so that finding a simulator loads no runner.
"""

__all__ = ["build", "child", "find", "objects", "style"]
