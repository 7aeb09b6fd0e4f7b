"""Verilog and what goes around it: interfaces, AXI4-Stream, random bits."""
