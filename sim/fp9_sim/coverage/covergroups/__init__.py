"""Functional coverage of a unit in SystemVerilog: cover points, bins and crosses."""

from fp9_sim.coverage.covergroups.write import coverage_package, has_coverage

__all__ = ["coverage_package", "has_coverage"]
