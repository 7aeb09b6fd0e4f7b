"""Descriptions of the accumulator presets: the modelled hardware and the sources of the parameters."""

from __future__ import annotations

from dataclasses import dataclass, field

from fp9.engines.catalogue import ENGINES, engine
from fp9.engines.devices import devices_of, nan_of
from fp9.engines.engine import Engine

_MMA_SIM = "MMA-Sim (arXiv 2511.10909)"
_MEASURED = "measured on H100, H200 and B200 (MATLAB-tensor-core)"
_RVBNA = "riscv-isa-sim, bulknormdot.h and zvbdot.h"
_ARM = "Arm DDI0487, J1.3.3, FP8DotAddFP"

_ABOUT: dict[str, tuple[str, str]] = {
    "fma_fp32": ("IEEE 754 fused multiply-add; Arm FMLALL", "IEEE 754-2019, section 5.4.1"),
    "fma_fp16": ("IEEE 754 fused multiply-add to FP16; Arm FMLAL", "IEEE 754-2019, section 5.4.1"),
    "fma_bf16": ("fused multiply-add to bfloat16", "IEEE 754-2019, section 5.4.1"),
    "dlfloat": ("IBM's 1.6.9 accumulator", "Agrawal et al., ARITH 2019"),
    "fmma": ("IBM's multiply-add of two products", "Agrawal et al., ISSCC 2021, 9.1"),
    "chunked": ("sums of 64, then their sum", "Wang et al., NeurIPS 2018"),
    "hopper": ("wgmma to FP32", _MMA_SIM),
    "ada": ("mma to FP32", _MMA_SIM),
    "blackwell": ("tcgen05.mma to FP32, MX scales included", _MMA_SIM),
    "volta": ("mma with FP16 operands to FP32", _MMA_SIM),
    "volta_fp16": ("mma with FP16 operands to FP16", _MMA_SIM),
    "ampere": ("mma with FP16 or BF16 operands to FP32, on Ampere and Ada", _MMA_SIM),
    "ampere_fp16": ("mma with FP16 operands to FP16, on Ampere and Ada", _MMA_SIM),
    "ampere_tf32": ("mma with TF32 operands, on Ampere and Ada", _MMA_SIM),
    "hopper_16bit": ("FP16 or BF16 operands to FP32, on Hopper and Blackwell", _MMA_SIM),
    "hopper_16bit_fp16": ("FP16 operands to FP16, on Hopper and Blackwell", _MMA_SIM),
    "hopper_tf32": ("TF32 operands, on Hopper and Blackwell", _MMA_SIM),
    "hopper_fp16": ("wgmma to FP16", _MMA_SIM),
    "ada_fp16": ("mma to FP16", _MMA_SIM),
    "blackwell_fp16": ("tcgen05.mma to FP16", _MMA_SIM),
    "blackwell_nvfp4": ("mma and tcgen05.mma of the kinds mxf4 and mxf4nvf4", _MMA_SIM),
    "hopper_mma": ("mma.sync with FP8 operands to FP32", _MEASURED),
    "hopper_mma_fp16": ("mma.sync with FP8 operands to FP16", _MEASURED),
    "blackwell_mma": ("mma.sync with FP8 operands to FP32", _MEASURED),
    "blackwell_mma_fp16": ("mma.sync with FP8 operands to FP16", _MEASURED),
    "cdna3": ("v_mfma with FNUZ operands", _MMA_SIM),
    "deepseek": ("wgmma, sums of 128 added in FP32", "DeepSeek-V3 (arXiv 2412.19437), section 3.3.2"),
    "rvbna4": ("RISC-V bulk normalised dot product of 4", _RVBNA),
    "rvbna8": ("RISC-V bulk normalised dot product of 8", _RVBNA),
    "rvbna16": ("RISC-V bulk normalised dot product of 16", _RVBNA),
    "rvbna32": ("RISC-V bulk normalised dot product of 32", _RVBNA),
    "arm_fdot2": ("Arm FDOT to FP16", _ARM),
    "arm_fdot4": ("Arm FDOT to FP32", _ARM),
    "arm_fmmla4": ("Arm FMMLA to FP16", _ARM),
    "arm_fmmla8": ("Arm FMMLA to FP32", _ARM),
    "amx_fp8": ("x86 AMX-FP8, TDP[B][H]F8PS", "Bochs, amx.cc"),
    "ace_top4mx": ("x86 ACE, TOP4MX*PS", "Bochs, amx_top.cc"),
    "mx": ("a block of OCP MX, exact inside", "OCP Microscaling Formats v1.0, section 6.2"),
    "exact": ("Kulisch accumulator: one rounding at the end", "exact arithmetic"),
}


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Accumulator preset, with a description of the hardware that it models.

    `stands_for` names the instruction or design. `source` names the publication or measurement of the parameters.
    `devices` lists device names that `fp9.engine` accepts: a GPU and a matrix instruction, such as "h100 wgmma".
    """

    engine: Engine
    stands_for: str
    source: str = field(repr=False)
    devices: tuple[str, ...] = field(repr=False)

    @property
    def name(self) -> str:
        """Return the name of the accumulator preset."""
        return self.engine.name

    @property
    def terms_per_step(self) -> int | None:
        """Return the number of products that one step adds, or None if the whole sum is exact and rounded once."""
        return None if self.engine.step.exact else self.engine.step.products

    @property
    def aligned_bits(self) -> int | None:
        """Return the width of the alignment window: the number of fraction bits below the largest exponent of a step's
        terms.

        Return None if alignment drops no bits.
        """
        return self.engine.window.width

    @property
    def result(self) -> str:
        """Return the name of the accumulator's result format."""
        return self.engine.output.name

    @property
    def rounding(self) -> str:
        """Return the rounding mode of a step. For an accumulator with chunks, also return the rounding mode of the
        total.
        """
        own, total = self.engine.result.rounding.value, self.engine.output_rounding.value
        return own if self.engine.chunk.length is None else f"{own}, then {total}"

    @property
    def chunk(self) -> int | None:
        """Return the number of products in a chunk, or None for an accumulator without chunks."""
        return self.engine.chunk.length

    @property
    def nan(self) -> str:
        """Return the NaN code of the accumulator's results."""
        code = self.engine.nan.code
        return _hexadecimal(self.engine, self.engine.output.nan_code(False) if code is None else code)

    @property
    def nan_on_devices(self) -> str | None:
        """Return the NaN code that the modelled devices return, or None if no source states the code."""
        code = nan_of(self.name)
        return None if code is None else _hexadecimal(self.engine, code)

    def __str__(self) -> str:
        return self.name


def _hexadecimal(engine: Engine, code: int | None) -> str:
    assert code is not None, "the result of an accumulator has a NaN"
    return f"0x{code:0{engine.output.bits // 4}X}"


def accumulators() -> tuple[Accumulator, ...]:
    """Return the records of all accumulator presets.

    >>> [a.name for a in accumulators() if a.aligned_bits == 13 and a.result == "e8m13"]
    ['hopper', 'ada']
    """
    return tuple(about(name) for name in ENGINES)


def about(name: str) -> Accumulator:
    """Return the record of an accumulator preset, given by its name or by the name of a device.

    Raises ValueError for unknown names and for names with parameters.
    """
    found = engine(name)
    if found.name not in _ABOUT:
        raise ValueError(f"accumulator {name!r} given with parameters; give the name of a preset")
    return Accumulator(found, *_ABOUT[found.name], tuple(devices_of(found.name)))
