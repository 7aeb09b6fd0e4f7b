"""A unit as a function of arrays, compiled from its Verilog."""
