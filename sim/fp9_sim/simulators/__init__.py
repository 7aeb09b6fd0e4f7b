"""Find simulators, build designs, and run simulations.

The module `find` locates a simulator, and the module `build` builds a design. The module `child` runs a step of
cocotb's runner, and the module `objects` shares compiled object files. The package imports none of its modules, so that
finding a simulator does not load cocotb's runner.
"""

__all__ = ["build", "child", "find", "objects", "style"]
