"""Tools for RTL: RTLIL text of components (`rtlil`), Yosys in its own process (`yosys`), and a cache (`cache`).

The cache key contains everything that can change a result.
"""
