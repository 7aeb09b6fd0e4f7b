"""Verilog specifications for proofs, written independently of the generated hardware."""
