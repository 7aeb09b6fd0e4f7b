"""Programs behind the RTL, and what they gave before.

Components as text (`rtlil`), Yosys in a process of its own (`yosys`), results kept by all that can change them
(`cache`).
"""
