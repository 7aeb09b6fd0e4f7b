"""Specifications for proofs: what each kind of unit computes, as independent Verilog."""
