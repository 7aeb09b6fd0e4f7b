"""Specifications of hardware units, as frozen records.

A unit specification holds every setting that affects an output bit or a port of the unit. The golden model, the RTL
generator, the test bench and the synthesis read the same specification. `CATALOGUE` holds the unit specifications that
fp9 builds, verifies and measures.

All ports are declared as flat unsigned vectors, even where they hold two's complement numbers. A unit with `stages = 0`
is combinational. A unit with `stages >= 1` also has `clk`, a synchronous `rst`, and the handshakes
`in_valid`/`in_ready` and `out_valid`/`out_ready`. Without back-pressure, the latency is `stages` clocks, and the
throughput is one operation per clock. Iterative division takes more clocks (`Unit.extra_clocks`). `Clocking` holds
other register options.
"""

from fp9.engines import MacOp
from fp9.units.base import FLAGS_PORT, MAX_STAGES, Columns, Masks, Port, Results, Unit, select_width, value_words
from fp9.units.cast import SCALE_BITS, Cast
from fp9.units.catalogue import CATALOGUE, unit
from fp9.units.clocking import HANDSHAKE, Clocking, Handshake, Reset, non_defaults
from fp9.units.decode import Decoder, Upcast
from fp9.units.exact import ProductRange, product_range
from fp9.units.fpu import Fpu, FpuOp
from fp9.units.mul import Mul
from fp9.units.multi_fpu import Division, FpuGroup, MultiFpu, MultiFpuOp
from fp9.units.operands import (
    BIAS_BITS,
    OPERAND_SIGNIFICAND_BITS,
    code_tables,
    exponent_range,
    exponent_width,
    significand_bits,
    with_every_bias,
)
from fp9.units.quantiser import TENSOR_SCALE, FiniteCast, Quantiser
from fp9.units.step import KULISCH_PRODUCTS, Dot, Fma, Mac

__all__ = [
    "BIAS_BITS",
    "CATALOGUE",
    "FLAGS_PORT",
    "HANDSHAKE",
    "KULISCH_PRODUCTS",
    "MAX_STAGES",
    "OPERAND_SIGNIFICAND_BITS",
    "SCALE_BITS",
    "TENSOR_SCALE",
    "Cast",
    "Clocking",
    "Columns",
    "Decoder",
    "Division",
    "Dot",
    "FiniteCast",
    "Fma",
    "Fpu",
    "FpuGroup",
    "FpuOp",
    "Handshake",
    "Mac",
    "MacOp",
    "Masks",
    "Mul",
    "MultiFpu",
    "MultiFpuOp",
    "Port",
    "ProductRange",
    "Quantiser",
    "Reset",
    "Results",
    "Unit",
    "Upcast",
    "code_tables",
    "exponent_range",
    "exponent_width",
    "non_defaults",
    "product_range",
    "select_width",
    "significand_bits",
    "unit",
    "value_words",
    "with_every_bias",
]
