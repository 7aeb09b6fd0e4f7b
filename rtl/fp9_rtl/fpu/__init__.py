"""RTL of the dual-format FPU and of the multi-format FPU.

The modules `steps` and `round` hold the dual-format FPU. All other modules of this package hold the multi-format FPU.
"""
