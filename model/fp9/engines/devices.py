"""Catalogue of GPUs: matrix instructions of each architecture, and the accumulator model of each instruction."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from fp9.names import Synonyms, plain

FP32, FP16 = "fp32", "fp16"


@dataclass(frozen=True, slots=True)
class Operands:
    """Operand formats of an instruction."""

    # The word is part of instruction names, such as 16bit in "h100 wgmma 16bit".
    word: str
    formats: tuple[str, ...]


FP8 = Operands("8bit", ("e4m3", "e5m2"))
_FNUZ, _E2M1 = Operands("8bit", ("e4m3fnuz", "e5m2fnuz")), Operands("8bit", ("e2m1",))
_FP16_ALONE, _HALVES, _TF32 = Operands("16bit", (FP16,)), Operands("16bit", (FP16, "bf16")), Operands("tf32", ("tf32",))


@dataclass(frozen=True, slots=True)
class Instruction:
    """Matrix instruction of a device: operand formats, result format, and the name of the accumulator preset."""

    names: tuple[str, ...]
    result: str
    engine: str
    operands: Operands = FP8

    @property
    def suffix(self) -> str:
        # FP8 operands and FP32 results are the defaults, and have no word in the name.
        words = (self.operands.word, FP8.word), (self.result, FP32)
        return "".join(f" {word}" for word, usual in words if word != usual)

    @property
    def name(self) -> str:
        """Return the full name, such as "mma 16bit fp16"."""
        return self.names[0] + self.suffix


@dataclass(frozen=True, slots=True)
class Device:
    """GPU architecture, with its products (such as H100) and its matrix instructions.

    The first instruction has the narrowest operands. `source` names the publications and measurements of the
    accumulator models. `nans` holds pairs of a result format and the NaN code that the device returns, if known.
    """

    architecture: str
    products: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    source: str
    nans: tuple[tuple[str, int], ...] = ()


_WGMMA, _MMA, _TCGEN05 = ("wgmma", "wgmma.mma_async"), ("mma", "mma.sync"), ("tcgen05", "tcgen05.mma")
_FP4, _RTX_FP4 = ("mxf4nvf4", "tcgen05.mma.kind::mxf4nvf4"), ("mxf4nvf4", "mma.kind::mxf4nvf4")
# MMA-Sim 2.1.1; for FP32 also mmaemu 0.1.0, measured on an RTX 4060.
_NVIDIA_NANS = ((FP32, 0x7FFFFFFF), (FP16, 0x7FFF))

DEVICES = (
    Device(
        "NVIDIA Volta",
        ("v100", "sm_70"),
        (
            Instruction(_MMA, FP32, "volta", _FP16_ALONE),
            Instruction(_MMA, FP16, "volta_fp16", _FP16_ALONE),
        ),
        "measurements of a V100 (MATLAB-tensor-core), and MMA-Sim (arXiv 2511.10909)",
        _NVIDIA_NANS,
    ),
    Device(
        "NVIDIA Turing",
        ("t4", "rtx2080", "rtx2070", "rtx2060", "sm_75"),
        (
            Instruction(_MMA, FP32, "ampere", _FP16_ALONE),
            Instruction(_MMA, FP16, "ampere_fp16", _FP16_ALONE),
        ),
        "MMA-Sim (arXiv 2511.10909), shape m16n8k8",
        _NVIDIA_NANS,
    ),
    Device(
        "NVIDIA Ampere",
        ("a100", "a2", "a10", "a30", "a40", "rtx3090", "rtx3080", "rtx3070", "rtx3060", "sm_80", "sm_86"),
        (
            Instruction(_MMA, FP32, "ampere", _HALVES),
            Instruction(_MMA, FP16, "ampere_fp16", _FP16_ALONE),
            Instruction(_MMA, FP32, "ampere_tf32", _TF32),
        ),
        "measurements of an A100 and an A2 (MATLAB-tensor-core), and MMA-Sim (arXiv 2511.10909)",
        _NVIDIA_NANS,
    ),
    Device(
        "NVIDIA Hopper",
        ("h100", "h200", "h800", "h20", "gh200", "sm_90", "sm_90a"),
        (
            Instruction(_WGMMA, FP32, "hopper"),
            Instruction(_MMA, FP32, "hopper_mma"),
            Instruction(_WGMMA, FP16, "hopper_fp16"),
            Instruction(_MMA, FP16, "hopper_mma_fp16"),
            Instruction((*_WGMMA, *_MMA), FP32, "hopper_16bit", _HALVES),
            Instruction((*_WGMMA, *_MMA), FP16, "hopper_16bit_fp16", _FP16_ALONE),
            Instruction((*_WGMMA, *_MMA), FP32, "hopper_tf32", _TF32),
        ),
        "measurements of an H100 and an H200 (MATLAB-tensor-core; fp9, 2026-11-26), and MMA-Sim (arXiv 2511.10909)",
        _NVIDIA_NANS,
    ),
    Device(
        "NVIDIA Ada Lovelace",
        ("l40s", "l40", "l4", "rtx4090", "rtx4080", "rtx4070", "rtx4060", "rtx6000 ada", "sm_89"),
        (
            Instruction(_MMA, FP32, "ada"),
            Instruction(_MMA, FP16, "ada_fp16"),
            Instruction(_MMA, FP32, "ampere", _HALVES),
            Instruction(_MMA, FP16, "ampere_fp16", _FP16_ALONE),
            Instruction(_MMA, FP32, "ampere_tf32", _TF32),
        ),
        "measurements of an L40S and an Ada RTX (MATLAB-tensor-core), and MMA-Sim (arXiv 2511.10909)",
        _NVIDIA_NANS,
    ),
    Device(
        "NVIDIA Blackwell",
        ("b200", "b100", "gb200", "sm_100", "sm_100a"),
        (
            Instruction(_TCGEN05, FP32, "blackwell"),
            Instruction(_MMA, FP32, "blackwell_mma"),
            Instruction(_FP4, FP32, "blackwell_nvfp4", _E2M1),
            Instruction(_TCGEN05, FP16, "blackwell_fp16"),
            Instruction(_MMA, FP16, "blackwell_mma_fp16"),
            Instruction((*_TCGEN05, *_MMA), FP32, "hopper_16bit", _HALVES),
            Instruction((*_TCGEN05, *_MMA), FP16, "hopper_16bit_fp16", _FP16_ALONE),
            Instruction((*_TCGEN05, *_MMA), FP32, "hopper_tf32", _TF32),
        ),
        "measurements of mma.sync on a B200 (MATLAB-tensor-core), and MMA-Sim (arXiv 2511.10909)",
        _NVIDIA_NANS,
    ),
    Device(
        "NVIDIA RTX Blackwell",
        ("rtx5090", "rtx5080", "rtx5070", "rtx5060", "rtx6000 blackwell", "sm_120", "sm_120a"),
        (
            Instruction(_MMA, FP32, "blackwell"),
            Instruction(_RTX_FP4, FP32, "blackwell_nvfp4", _E2M1),
            Instruction(_MMA, FP16, "blackwell_fp16"),
            Instruction(_MMA, FP32, "hopper_16bit", _HALVES),
            Instruction(_MMA, FP16, "hopper_16bit_fp16", _FP16_ALONE),
            Instruction(_MMA, FP32, "hopper_tf32", _TF32),
        ),
        "MMA-Sim (arXiv 2511.10909)",
        _NVIDIA_NANS,
    ),
    Device(
        "AMD CDNA3",
        ("mi300x", "mi300a", "mi325x", "gfx942"),
        (Instruction(("v_mfma", "mfma"), FP32, "cdna3", _FNUZ),),
        "MMA-Sim (arXiv 2511.10909)",
    ),
)

UNMEASURED = {
    "NVIDIA Blackwell Ultra": ("b300", "gb300", "sm_103", "sm_103a"),
    "AMD CDNA4": ("mi350x", "mi355x", "gfx950"),
    "AMD RDNA4": ("rx9070", "rx9070xt", "gfx1201"),
    "Intel Gaudi": ("gaudi2", "gaudi3"),
}
"""Architectures with FP8 matrix instructions whose accumulator has no published measurement, with their products."""


def _candidates() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for device in DEVICES:
        for instruction in device.instructions:
            for product in ("", *device.products):
                spelled = f"{product or device.products[0]} {instruction.name}"
                for way in _ways(device, instruction, product):
                    found.setdefault(plain(way), {})[instruction.engine] = spelled
    return found


def _ways(device: Device, instruction: Instruction, product: str) -> Iterator[str]:
    # A name may omit the words for FP8 operands and for an FP32 result. If the device has no FP8 instruction, a name
    # may also omit the word for the operands of the device's first instruction.
    implied = {FP8.word, device.instructions[0].operands.word if product else FP8.word}
    operands = [instruction.operands.word] + ([""] if instruction.operands.word in implied else [])
    results = [instruction.result] + ([""] if instruction.result == FP32 else [])
    names = [*instruction.names, *([""] if product else [])]
    for words in itertools.product([product], names, operands, results):
        yield " ".join(filter(None, words))


def _synonyms() -> Synonyms:
    candidates = _candidates()
    clear = {way: next(iter(engines)) for way, engines in candidates.items() if len(engines) == 1}
    unclear = {
        way: {spelled: engine for engine, spelled in engines.items()}
        for way, engines in candidates.items()
        if len(engines) > 1
    }
    return Synonyms("accumulator", {"devices and instructions": clear}, unclear)


DEVICE_NAMES = _synonyms()
"""Device names for accumulator presets, such as "h100 wgmma", "l40s", "mi300x" and "h200 mma fp16"."""


def unmeasured(name: str) -> str | None:
    """Return the architecture that `UNMEASURED` lists for a device name."""
    spelled = plain(name)
    # The name may also state an instruction, so only the start of the name is compared.
    return next((a for a, products in UNMEASURED.items() if spelled.startswith(tuple(map(plain, products)))), None)


def devices_of(engine: str) -> list[str]:
    """Return the names of the devices that an accumulator preset models, such as "h100 wgmma"."""
    return [
        f"{product} {instruction.name}"
        for device, instruction in _instructions_of(engine)
        for product in device.products
    ]


def operands_of(engine: str) -> list[str]:
    """Return the operand formats of all matrix instructions that an accumulator preset models."""
    return list(
        dict.fromkeys(fmt for _, instruction in _instructions_of(engine) for fmt in instruction.operands.formats)
    )


def nan_of(engine: str) -> int | None:
    """Return the code of NaN results on the preset's devices, or None if no single code is known."""
    found = {dict(device.nans).get(instruction.result) for device, instruction in _instructions_of(engine)}
    return found.pop() if len(found) == 1 else None


def _instructions_of(engine: str) -> Iterator[tuple[Device, Instruction]]:
    for device in DEVICES:
        for instruction in device.instructions:
            if instruction.engine == engine:
                yield device, instruction
