"""Find simulators, build designs, and run simulations.

This package imports no modules, so that finding a simulator does not load cocotb's runner.
"""

__all__ = ["build", "child", "find", "objects", "style"]
