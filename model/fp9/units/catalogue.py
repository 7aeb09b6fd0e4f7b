"""Catalogue of the unit specifications that fp9 builds, verifies and measures."""

from __future__ import annotations

from typing import Any

from fp9.engines import ENGINES, engine
from fp9.formats import fixed_format, format
from fp9.formats.blocks import block_format
from fp9.formats.rounding import NanSign, Overflow, Rounding
from fp9.names import unknown
from fp9.units.base import Unit
from fp9.units.cast import Cast
from fp9.units.decode import Decoder, Upcast
from fp9.units.fpu import Fpu
from fp9.units.mul import Mul
from fp9.units.multi_fpu import MultiFpu
from fp9.units.quantiser import Quantiser
from fp9.units.step import Dot, Fma, Mac

_OCP = (format("e4m3"), format("e5m2"))
_HFP8 = (format("hfp8_143"), format("hfp8_152"))
_INT8 = (format("e4m3"), format("int8"))
_FNUZ = (format("e4m3fnuz"), format("e5m2fnuz"))
_E2M1 = (format("e2m1"),)
_ALL = (*_OCP, format("hif8"), *_HFP8)
_FP32, _DLFLOAT = ENGINES["fma_fp32"], ENGINES["dlfloat"]
_MXFP4, _NVFP4 = block_format("mxfp4"), block_format("nvfp4")
_R = Rounding
# Arm's FPConvertFP8: NSCALE provides the scale, and FPMR.OSC selects saturation.
_ARM: dict[str, Any] = {
    "overflow": (Overflow.INF, Overflow.SATURATE),
    "scale": True,
    "nan_sign": NanSign.OVERFLOW,
    "nan": (0x7F, 0x7E),
}
# RISC-V's Zvfofp8min: rounding modes are in the order of `frm`, and `.sat` saturates.
_RISCV: dict[str, Any] = {
    "targets": _OCP,
    "roundings": (_R.RNE, _R.RTZ, _R.RDN, _R.RUP, _R.RNA),
    "overflow": (Overflow.DIRECTED, Overflow.SATURATE),
    "nan_sign": NanSign.LOST,
}
# RISC-V FPU with 16-bit registers and NaN boxing: scalar operations of Zfh and Zfbfmin, and conversions of OFP8
# numbers. The tag of an operation is the number of the destination register.
_RISCV_FPU: dict[str, Any] = {
    "roundings": _RISCV["roundings"],
    "overflow": _RISCV["overflow"],
    "nan_boxing": True,
    "tag": 5,
}

CATALOGUE: dict[str, Unit] = {
    unit.name: unit
    for unit in (
        Decoder("decoder_ocp", _OCP),
        Decoder("decoder_hfp8", _HFP8, bias_port=True),
        Decoder("decoder_hif8", (format("hif8"),)),
        Decoder("decoder_all", _ALL, bias_port=True),
        Upcast("upcast_fp32", _ALL, fixed_format("fp32")),
        Upcast("upcast_dlfloat16_hfp8", _HFP8, fixed_format("dlfloat16"), bias_port=True),
        Cast("cast_fp32", fixed_format("fp32"), (*_OCP, format("hif8")), (_R.RNE, _R.RNA, _R.HYBRID)),
        Cast("cast_fp32_ocp_rne", fixed_format("fp32"), _OCP, (_R.RNE,)),
        Cast("cast_fp16_hif8", fixed_format("fp16"), (format("hif8"),), (_R.RNE, _R.RNA, _R.HYBRID)),
        Cast("cast_fp32_hfp8", fixed_format("fp32"), _HFP8, (_R.RNA,)),
        Cast("cast_fp32_sr", fixed_format("fp32"), _OCP, (_R.RNE, _R.SR)),
        Cast("cast_bf16", fixed_format("bf16"), _ALL, (_R.RNE, _R.RNA, _R.HYBRID), scale=True),
        Cast("cast_fp32_riscv", fixed_format("fp32"), **_RISCV),
        Cast("cast_bf16_riscv", fixed_format("bf16"), **_RISCV),
        Cast("cast_fp32_arm", fixed_format("fp32"), _OCP, (_R.RNE,), **_ARM),
        Cast("cast_fp32_x4", fixed_format("fp32"), _OCP, (_R.RNE,), amax=True, lanes=4, stages=2),
        Quantiser("quantiser_mxfp4", fixed_format("bf16"), _MXFP4, tuple(map(_MXFP4.rule, _MXFP4.rules)), stages=1),
        Quantiser("quantiser_nvfp4", fixed_format("bf16"), _NVFP4, tuple(map(_NVFP4.rule, ("rne", "rceil"))), stages=1),
        Mul("mul_fp16_ocp", _OCP, _OCP, fixed_format("fp16")),
        Fma("fma_fp32", _ALL, _ALL, _FP32),
        Fma("fma_fp32_ocp", _OCP, _OCP, _FP32),
        Fma("fma_fp32_e5m2", _OCP[1:], _OCP[1:], _FP32),
        Fma("fma_fp32_int8", _INT8, _INT8, _FP32),
        Fma("fma_fp32_fp16", (format("fp16"),), (format("fp16"),), _FP32),
        Fma("fma_fp32_bf16", (format("bf16"),), (format("bf16"),), _FP32),
        Fma("fma_dlfloat16", _ALL, _ALL, _DLFLOAT),
        Fma("fma_dlfloat16_dlfloat16", (format("dlfloat16"),), (format("dlfloat16"),), _DLFLOAT),
        Fma("fma_dlfloat16_hfp8", _HFP8, _HFP8, _DLFLOAT),
        Fma("fma_dlfloat16_hfp8_152", _HFP8[1:], _HFP8[1:], _DLFLOAT),
        Fma("fma_dlfloat16_bias", _HFP8, _HFP8, _DLFLOAT, bias_port=True, stages=2),
        Dot("dot2_dlfloat16_hfp8", _HFP8, _HFP8, ENGINES["fmma"]),
        Dot("dot4_fp32_ocp", _OCP, _OCP, engine("fma_fp32(G=4)")),
        Dot("dot4_fp16_hif8", (format("hif8"),), (format("hif8"),), engine("fma_fp16(G=4)"), stages=3),
        Dot("dot2_dlfloat16_hfp8_k", _HFP8, _HFP8, engine("fmma(K=13)")),
        Dot("dot4_e8m13_ocp", _OCP, _OCP, engine("hopper(G=4)")),
        Dot("dot8_fp32_ocp", _OCP, _OCP, engine("blackwell(G=8)"), stages=3),
        Dot("dot4_fp32_fp16", (format("fp16"),), (format("fp16"),), engine("ampere(G=4)")),
        Dot("dot16_fp32_bf16", (format("bf16"),), (format("bf16"),), ENGINES["hopper_16bit"], stages=4),
        Dot("dot4_fp32_int8", _INT8[1:], _INT8[1:], engine("fma_fp32(G=4)")),
        Dot("dot4_fp32_mxfp8", _OCP, _OCP, engine("mx(G=4)"), scale=format("e8m0")),
        Dot("dot16_fp32_nvfp4", _E2M1, _E2M1, engine("mx(G=16)"), scale=format("ue4m3")),
        Dot("dot32_fp32_nvfp4", _E2M1, _E2M1, engine("blackwell_nvfp4(G=32)"), scale=format("ue4m3"), block=16),
        Dot("dot2_fp16_arm", _OCP, _OCP, ENGINES["arm_fdot2"]),
        Dot("dot4_fp32_rvbna", _OCP, _OCP, ENGINES["rvbna4"]),
        Dot("dot8_fp32_rvbna", _OCP, _OCP, ENGINES["rvbna8"]),
        Dot("dot16_fp32_rvbna", _OCP, _OCP, ENGINES["rvbna16"]),
        Dot("dot4_fp32_ace", _OCP, _OCP, ENGINES["ace_top4mx"], scale=format("e8m0")),
        Dot("dot8_fp16_mma", _OCP, _OCP, engine("hopper_mma_fp16(G=4,L=8)")),
        Dot("dot16_e8m13_ocp", _OCP, _OCP, ENGINES["ada"], stages=4),
        Dot("dot16_fp32_fnuz", _FNUZ, _FNUZ, ENGINES["cdna3"], stages=4),
        Fpu("fpu_dlfloat16_hfp8", _HFP8, _HFP8, ENGINES["fmma"]),
        Fpu("fpu_dlfloat16_hfp8_152", _HFP8[1:], _HFP8[1:], ENGINES["fmma"]),
        MultiFpu("fpu_ocp_fp16", (*_OCP, format("fp16"))),
        MultiFpu("fpu_hif8_bf16", (format("hif8"), format("bf16"))),
        MultiFpu("fpu_mixed_dlfloat16", (*_ALL, format("dlfloat16")), roundings=(_R.RNA, _R.RNE)),
        MultiFpu("fpu_ocp_fp32", (*_OCP, format("fp32")), lanes=4),
        MultiFpu("fpu_riscv", (*_OCP, format("fp16"), format("bf16")), **_RISCV_FPU),
        Mac("mac_fp32", _ALL, _ALL, _FP32, stages=2),
        Mac("mac_dlfloat16", _ALL, _ALL, _DLFLOAT, stages=2),
        Mac("mac_dlfloat16_gated", _HFP8, _HFP8, _DLFLOAT, stages=3, gate_zeros=True),
        Mac("mac4_e8m13_ocp", _OCP, _OCP, engine("hopper(G=4)"), stages=2),
        Mac("mac4_fp32_mxfp8", _OCP, _OCP, engine("mx(G=4)"), stages=2, scale=format("e8m0")),
        Mac("mac4_kulisch_ocp", _OCP, _OCP, engine("exact(G=4)"), stages=4),
        Mac("mac_dlfloat16_chunked", _HFP8, _HFP8, ENGINES["chunked"], stages=3),
        Mac("mac4_deepseek_ocp", _OCP, _OCP, engine("deepseek(G=4)"), stages=3),
    )
}


def unit(name: str | Unit) -> Unit:
    """Return the catalogue unit with the given name, or a given `Unit` unchanged.

    Raises ValueError for an unknown name.
    """
    if isinstance(name, Unit):
        return name
    if not isinstance(name, str):
        raise TypeError(f"unit of type {type(name).__name__} given; give a Unit or its name, such as 'fma_fp32'")
    if name not in CATALOGUE:
        raise ValueError(unknown("unit", name, CATALOGUE, "`fp9 units` lists all, and a TOML file describes another"))
    return CATALOGUE[name]
