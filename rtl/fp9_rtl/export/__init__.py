"""What leaves for third-party designs.

A unit as Verilog (`verilog`) under a head of its spec and ports (`header`, `port_types`), its encodings for
SystemVerilog and C (`interfaces`), an AXI4-Stream wrapper (`axis`), and random bits for stochastic rounding (`lfsr`).
"""
