"""Generate files for third-party designs.

`verilog` writes a unit's Verilog. Its header has the specification and the ports (`header`, `port_types`).
`interfaces` writes the unit's encodings for SystemVerilog and C. `axis` is an AXI4-Stream wrapper. `lfsr` generates
random bits for stochastic rounding.
"""
