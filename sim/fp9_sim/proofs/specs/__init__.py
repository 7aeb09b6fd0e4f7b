"""Specifications for proofs: Verilog that states independently what each kind of unit computes."""
