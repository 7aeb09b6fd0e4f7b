"""The simulators: how they are found, built for and run.

Public modules: `find` (a simulator and its version), `build` (a design for it), `child` (a step of its runner)
and `objects` (shared compiled parts). The modules are independent, so that finding a simulator loads no runner.
"""

__all__ = ["build", "child", "find", "objects", "style"]
