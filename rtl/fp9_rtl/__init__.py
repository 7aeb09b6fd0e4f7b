"""Hardware of the unit specs: Amaranth components, Verilog export, area and delay estimates."""

from fp9_rtl.axis import axi_stream
from fp9_rtl.build import build
from fp9_rtl.export import verilog, write_verilog
from fp9_rtl.lfsr import Lfsr

__all__ = ["Lfsr", "axi_stream", "build", "verilog", "write_verilog"]
