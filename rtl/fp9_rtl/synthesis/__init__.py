"""Area and delay of units in standard cells; LUTs and clock frequency on an FPGA.

`run` measures and compares units. `records` stores the figures and `report` shows them. `breakdown` gives the area
of each submodule, and `fpga` places and routes. `liberty`, `mapping` and `sta` contain libraries, synthesis recipes
and timing analysis.
"""
