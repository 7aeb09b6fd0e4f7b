"""Generate Verilog, SystemVerilog, C headers and AXI4-Stream wrappers for other designs."""
