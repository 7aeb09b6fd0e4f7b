"""Generate files for third-party designs.

`verilog` writes a unit's Verilog. `header` writes the comment with the specification and the ports, and `port_types`
chooses SystemVerilog types for ports. `interfaces` writes the unit's encodings for SystemVerilog and C. `axis` wraps a
unit in AXI4-Stream ports. `lfsr` generates random bits for stochastic rounding.
"""
