"""Find simulators, build designs, and run simulations.

The package imports none of its modules, so that finding a simulator does not load cocotb's runner.
"""

__all__ = ["build", "child", "find", "objects", "style"]
