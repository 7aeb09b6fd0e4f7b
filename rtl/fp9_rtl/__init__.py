"""Hardware of unit specifications: Amaranth components, Verilog export, area and delay."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fp9_rtl.components import build
    from fp9_rtl.export.axis import axi_stream
    from fp9_rtl.export.lfsr import Lfsr
    from fp9_rtl.export.rtlil import rtlil2verilog
    from fp9_rtl.export.verilog import canonical_digest, circuit_digest, verilog, write_verilog

__all__ = [
    "Lfsr",
    "axi_stream",
    "build",
    "canonical_digest",
    "circuit_digest",
    "rtlil2verilog",
    "verilog",
    "write_verilog",
]

_HOMES = {
    "Lfsr": "fp9_rtl.export.lfsr",
    "axi_stream": "fp9_rtl.export.axis",
    "build": "fp9_rtl.components",
    "canonical_digest": "fp9_rtl.export.verilog",
    "circuit_digest": "fp9_rtl.export.verilog",
    "rtlil2verilog": "fp9_rtl.export.rtlil",
    "verilog": "fp9_rtl.export.verilog",
    "write_verilog": "fp9_rtl.export.verilog",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `--help` works without loading Amaranth."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no name {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)
