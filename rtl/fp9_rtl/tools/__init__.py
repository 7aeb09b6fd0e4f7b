"""Tools behind the RTL: RTLIL text of components (`rtlil`), Yosys in its own process (`yosys`), and a cache (`cache`).

The cache stores results under a key of everything that can change them.
"""
