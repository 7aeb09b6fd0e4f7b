"""Generate files for third-party designs: Verilog, SystemVerilog and C headers, AXI4-Stream."""
