"""Verilog specifications of conversions: casts, decoders, quantisers and running maxima."""
