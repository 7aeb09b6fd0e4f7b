"""Hardware of the unit specs: Amaranth components, Verilog export, area and delay estimates."""

from fp9_rtl.build import build
from fp9_rtl.export import verilog, write_verilog

__all__ = ["build", "verilog", "write_verilog"]
