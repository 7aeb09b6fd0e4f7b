"""Verilog specifications of the operations of multi-format FPUs."""
