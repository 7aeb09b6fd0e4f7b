"""Tools for RTL generation: RTLIL text, Yosys runs, and a cache of results.

`rtlil` converts components to RTLIL, `yosys` runs Yosys in its own process, and `cache` stores results. A cache key
contains everything that can change a result.
"""
