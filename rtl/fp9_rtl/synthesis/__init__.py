"""What units cost: area and delay in standard cells, LUTs and clock on an FPGA.

`run` measures and compares, `records` holds and `report` shows the figures; `breakdown` says which submodule an area
lies in, `fpga` places and routes. `liberty`, `mapping` and `sta` are the libraries, the recipes and the timing.
"""
