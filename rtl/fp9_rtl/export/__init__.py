"""Generate files for third-party designs.

`verilog` writes a unit's Verilog. `header` and `port_types` add the specification and the types of the ports.
`interfaces` writes the unit's encodings for SystemVerilog and C. `axis` wraps a unit in AXI4-Stream ports. `lfsr`
generates random bits for stochastic rounding.
"""
