"""RTL of the dual-format FPU and of the multi-format FPU.

The modules `steps` and `round` hold the dual-format FPU. The package's other modules hold the multi-format FPU.
"""
