"""Measure a unit's area and delay in standard cells, or its LUTs and clock frequency.

`run` measures and compares units. `records` stores the measured areas and delays, and `report` prints them. `breakdown`
returns the area of each submodule of a unit. `fpga` places and routes a unit on an FPGA. `libraries` and `liberty` read
cell libraries. `mapping` runs the synthesis scripts, and `sta` runs the timing analysis.
"""
