"""Generate files for third-party designs.

`verilog` writes a unit with a header of its specification and ports (`header`, `port_types`). `interfaces` writes
its encodings for SystemVerilog and C. `axis` is an AXI4-Stream wrapper, and `lfsr` gives random bits for stochastic
rounding.
"""
