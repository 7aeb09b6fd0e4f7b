"""Yosys, RTLIL, the cache of results, tools that are missing."""
