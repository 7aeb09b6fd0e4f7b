"""fp9: a bit-accurate reference model for 8-bit floating-point hardware.

>>> import fp9
>>> import numpy as np
>>> fp9.encode(np.float32([16.0]), "hif8", rounding="hybrid").tolist()  # hybrid rounding gives 20.0
[65]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fp9.system.version import __version__

if TYPE_CHECKING:
    from fp9 import blocks, units, vectors
    from fp9.arrays import Array, BlockArray, accumulator, array, dequantise, dot, fake_quantise, matmul, quantise
    from fp9.arrays import dequantise as dequantize
    from fp9.arrays import fake_quantise as fake_quantize
    from fp9.arrays import quantise as quantize
    from fp9.casts.arrays import Hybrid, cast, decode, encode
    from fp9.casts.counts import Counts
    from fp9.casts.measures import Finfo, amax_scale, finfo, sqnr
    from fp9.casts.random_bits import Stochastic
    from fp9.engines import Accumulator, Engine, accumulators, engine
    from fp9.formats import CallableModule, Format, Rounding, format
    from fp9.formats.blocks import BlockFormat, block_format, block_formats
    from fp9.formats.rounding import Flags, NanSign, Overflow, Payload
    from fp9.profiles import scaled_mm
    from fp9.sums.operands import Operand, operand
    from fp9.system.above import regress, verilog, write_verilog
    from fp9.units import unit

    formats: CallableModule
    """The package of formats; calling it lists them."""

__all__ = [
    "Accumulator",
    "Array",
    "BlockArray",
    "BlockFormat",
    "Counts",
    "Engine",
    "Finfo",
    "Flags",
    "Format",
    "Hybrid",
    "NanSign",
    "Operand",
    "Overflow",
    "Payload",
    "Rounding",
    "Stochastic",
    "__version__",
    "accumulator",
    "accumulators",
    "amax_scale",
    "array",
    "block_format",
    "block_formats",
    "blocks",
    "cast",
    "decode",
    "dequantise",
    "dequantize",
    "dot",
    "encode",
    "engine",
    "fake_quantise",
    "fake_quantize",
    "finfo",
    "format",
    "formats",
    "matmul",
    "operand",
    "quantise",
    "quantize",
    "scaled_mm",
    "sqnr",
    "unit",
    "units",
    "vectors",
]
if TYPE_CHECKING:
    __all__ += ["regress", "verilog", "write_verilog"]

# Public names by the module that defines them, which is imported at the first use of a name.
_HOMES = {
    "arrays": (
        "Array",
        "BlockArray",
        "accumulator",
        "array",
        "dequantise",
        "dot",
        "fake_quantise",
        "matmul",
        "quantise",
    ),
    "casts.arrays": ("Hybrid", "cast", "decode", "encode"),
    "casts.counts": ("Counts",),
    "casts.measures": ("Finfo", "amax_scale", "finfo", "sqnr"),
    "casts.random_bits": ("Stochastic",),
    "engines": ("Accumulator", "Engine", "accumulators", "engine"),
    "formats": ("CallableModule", "Format", "Rounding", "format"),
    "formats.blocks": ("BlockFormat", "block_format", "block_formats"),
    "formats.rounding": ("Flags", "NanSign", "Overflow", "Payload"),
    "profiles": ("scaled_mm",),
    "sums.operands": ("Operand", "operand"),
    "units": ("unit",),
}
_HOME = {name: f"fp9.{module}" for module, names in _HOMES.items() for name in names}
_AMERICAN = {"fake_quantize": "fake_quantise", "quantize": "quantise", "dequantize": "dequantise"}
_MODULES = ("blocks", "formats", "units", "vectors")
# Entry point group in which other packages register `verilog`, `write_verilog` and `regress`.
_PACKAGES = "fp9.names"


def __getattr__(name: str) -> Any:
    # Import at the first use, so that `import fp9` and `fp9 --help` start quickly.
    if name in _MODULES:
        return import_module(f"fp9.{name}")
    own = _AMERICAN.get(name, name)
    if own in _HOME:
        globals()[name] = found = getattr(import_module(_HOME[own]), own)
        return found
    for entry in () if name.startswith("_") else _of_packages():
        if entry.name == name:
            return _loaded(entry)
    raise AttributeError(f"module fp9 has no name {name!r}; `dir(fp9)` lists those it has")


def _loaded(entry: Any) -> Any:
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        from fp9.system.missing import install_hint  # slow to load

        missing, extra = (error.name or "").partition(".")[0], entry.module.removeprefix("fp9_")
        sentence = f"fp9.{entry.name} needs {missing}, which is not installed; run: {install_hint(extra)}"
        raise ModuleNotFoundError(sentence, name=error.name) from error


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("_")), *(e.name for e in _of_packages())})


def _of_packages() -> Any:
    from importlib.metadata import entry_points  # slow to load

    return entry_points(group=_PACKAGES)
