"""Multi-format FPUs outside the catalogue that reach each field of the specification."""

from __future__ import annotations

from fp9.formats import format
from fp9.formats.rounding import Overflow, Rounding
from fp9.units import CATALOGUE, FpuGroup, MultiFpu

MODES = tuple(mode for mode in Rounding if not (mode.needs_bits or mode.reads_source))
"""Rounding modes that depend only on the exact result."""

DESCRIBED = [
    MultiFpu("integers", (format("e4m3"), format("fp16")), tuple(FpuGroup), MODES, nan_boxing=True),
    MultiFpu("integers_8", (format("e5m2"), format("binary8p3se")), (FpuGroup.INTCONV,), MODES),
    MultiFpu("integers_16", (format("1.7.15,b=63,specials=ieee"),), (FpuGroup.INTCONV,), MODES),
    MultiFpu("integers_27", (format("e5m2"), format("1.7.19,b=28,specials=merged")), (FpuGroup.INTCONV,), MODES),
    MultiFpu("integers_32", (format("hif8"), format("bf16"), format("fp32")), tuple(FpuGroup)[:4], lanes=4),
    MultiFpu("dots", (format("e4m3"), format("e5m2"), format("fp16")), (FpuGroup.DOT,), MODES),
    MultiFpu("dots_4", (format("hif8"), format("hfp8_143"), format("fp32")), (FpuGroup.ADDMUL, FpuGroup.DOT), lanes=4),
    MultiFpu("divide", (format("e4m3"), format("e5m2"), format("fp16")), (FpuGroup.CONV, FpuGroup.DIVSQRT), MODES),
    MultiFpu(
        "divide_8", (format("hfp8_143"), format("hif8")), (FpuGroup.DIVSQRT,), MODES, overflow=tuple(Overflow)[:3]
    ),
    MultiFpu(
        "divide_2", (format("e4m3fnuz"), format("f161"), format("bf16")), tuple(FpuGroup), lanes=2, nan_boxing=False
    ),
    MultiFpu("roots", (format("bf16"),), (FpuGroup.DIVSQRT,), MODES),
    MultiFpu("tiny", (format("e5m2"), format("hif8"), format("fp16")), lanes=2, tiny_before_rounding=True),
    MultiFpu(
        "scaled", (format("e4m3"), format("hif8"), format("fp16")), tuple(FpuGroup)[:4], MODES, lanes=2, scale=True
    ),
    MultiFpu("scaled_32", (format("e5m2"), format("hfp8_143"), format("fp32")), (FpuGroup.CONV,), MODES, scale=True),
    MultiFpu(
        "random_bits",
        (format("e4m3"), format("hif8"), format("fp16")),
        (FpuGroup.ADDMUL, FpuGroup.CONV, FpuGroup.INTCONV, FpuGroup.DOT),
        (Rounding.RNE, Rounding.SR, Rounding.HYBRID),
        lanes=2,
        scale=True,
        random_bits=5,
    ),
    MultiFpu(
        "random_32",
        (format("e5m2"), format("fp32")),
        roundings=(Rounding.SR,),
        random_bits=24,
        tiny_before_rounding=True,
    ),
    MultiFpu(
        "hybrid",
        (format("hif8"), format("fp16"), format("bf16"), format("dlfloat16"), format("fp32")),
        (FpuGroup.CONV,),
        (Rounding.HYBRID, Rounding.SR),
        nan_boxing=True,
        random_bits=1,
    ),
    MultiFpu(
        "elements",
        (format("e2m1"), format("e3m2"), format("e2m3"), format("e4m3"), format("fp16")),
        (*tuple(FpuGroup)[:4], FpuGroup.DOT),
        (Rounding.RNE, Rounding.RDN, Rounding.SR),
        lanes=2,
    ),
    MultiFpu("elements_4", (format("e2m1"),), tuple(FpuGroup)[:5], MODES, (Overflow.INF,), tiny_before_rounding=True),
    MultiFpu("saturating", (format("e2m1"), format("fp16")), lanes=2, overflow=(Overflow.SATURATE, Overflow.INF)),
    MultiFpu("elements_6", (format("e2m1"), format("e3m2"), format("bf16")), tuple(FpuGroup), mixed=False),
    MultiFpu(
        "half_lanes",
        (format("e4m3"), format("hif8"), format("fp16"), format("dlfloat16"), format("fp32")),
        (FpuGroup.ADDMUL, FpuGroup.NONCOMP, FpuGroup.CONV, FpuGroup.INTCONV, FpuGroup.DOT),
        (Rounding.RNE, Rounding.SR, Rounding.HYBRID),
        lanes=4,
        half_lanes=True,
        random_bits=3,
    ),
    MultiFpu("halves", (format("bf16"), format("fp32")), half_lanes=True, mixed=False, tag=2, wide_overflow=True),
    MultiFpu("wide_overflow", (format("e2m1"), format("e5m2"), format("fp16")), wide_overflow=True),
    MultiFpu("compare", (format("hif8"), format("fp16")), (FpuGroup.NONCOMP,), flags=False),
    MultiFpu("convert", (format("hfp8_143"), format("dlfloat16"), format("fp32")), (FpuGroup.CONV,), MODES),
    MultiFpu(
        "quarters_and_halves",
        (format("e4m3"), format("hif8"), format("fp16"), format("fp32")),
        tuple(FpuGroup)[:4],
        (*MODES, Rounding.SR),
        lanes=4,
        half_lanes=True,
        random_bits=3,
    ),
    MultiFpu("wide_lanes", (format("f125"), format("bf16")), (FpuGroup.ADDMUL,), lanes=2),
]

SEVERAL = [unit for unit in (*CATALOGUE.values(), *DESCRIBED) if isinstance(unit, MultiFpu) and unit.lane_widths]
"""Units of several lanes."""
