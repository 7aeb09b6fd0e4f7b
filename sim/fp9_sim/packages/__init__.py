"""Write a unit as a folder that works without fp9: RTL, vectors, test benches, constraints."""

from fp9_sim.packages.package import files, write_package

__all__ = ["files", "write_package"]
