"""Tools for RTL generation: RTLIL text, Yosys runs, and a cache of results."""
