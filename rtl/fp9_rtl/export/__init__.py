"""What leaves for other people's designs.

A unit as Verilog (`verilog`), its encodings for SystemVerilog and C (`interfaces`), an AXI4-Stream wrapper (`axis`),
and random bits for stochastic rounding (`lfsr`).
"""
