"""Devices, their instructions, and the accumulator that each instruction uses for FP8 products."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.names import Synonyms, plain

FP32, FP16 = "fp32", "fp16"


@dataclass(frozen=True, slots=True)
class Instruction:
    """Instruction of a device. `result` is the format of its results, and `engine` is the preset that models it."""

    names: tuple[str, ...]
    result: str
    engine: str

    @property
    def name(self) -> str:
        """Return the instruction's first name. The result format follows if it is not FP32."""
        return self.names[0] if self.result == FP32 else f"{self.names[0]} {self.result}"


@dataclass(frozen=True, slots=True)
class Device:
    """Architecture, with its products and its instructions for FP8 or FP4 operands.

    `source` says where the accumulators are documented or measured.
    """

    architecture: str
    products: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    source: str


_WGMMA, _MMA, _TCGEN05 = ("wgmma", "wgmma.mma_async"), ("mma", "mma.sync"), ("tcgen05", "tcgen05.mma")
_FP4 = ("mxf4nvf4", "tcgen05.mma.kind::mxf4nvf4", "mma.kind::mxf4nvf4")

DEVICES = (
    Device(
        "NVIDIA Hopper",
        ("h100", "h200", "h800", "h20", "gh200", "sm_90", "sm_90a"),
        (
            Instruction(_WGMMA, FP32, "hopper"),
            Instruction(_MMA, FP32, "hopper_mma"),
            Instruction(_WGMMA, FP16, "hopper_fp16"),
            Instruction(_MMA, FP16, "hopper_mma_fp16"),
        ),
        "H100 and H200 measured (MATLAB-tensor-core); MMA-Sim (arXiv 2511.10909)",
    ),
    Device(
        "NVIDIA Ada Lovelace",
        ("l40s", "l40", "l4", "rtx4090", "rtx4080", "rtx4070", "rtx4060", "rtx6000 ada", "sm_89"),
        (Instruction(_MMA, FP32, "ada"), Instruction(_MMA, FP16, "ada_fp16")),
        "L40S and an Ada RTX measured (MATLAB-tensor-core); MMA-Sim (arXiv 2511.10909)",
    ),
    Device(
        "NVIDIA Blackwell",
        ("b200", "b100", "gb200", "sm_100", "sm_100a"),
        (
            Instruction(_TCGEN05, FP32, "blackwell"),
            Instruction(_MMA, FP32, "blackwell_mma"),
            Instruction(_FP4, FP32, "blackwell_nvfp4"),
            Instruction(_TCGEN05, FP16, "blackwell_fp16"),
            Instruction(_MMA, FP16, "blackwell_mma_fp16"),
        ),
        "B200 measured for mma.sync (MATLAB-tensor-core); MMA-Sim (arXiv 2511.10909)",
    ),
    Device(
        "AMD CDNA3",
        ("mi300x", "mi300a", "mi325x", "gfx942"),
        (Instruction(("v_mfma", "mfma"), FP32, "cdna3"),),
        "MMA-Sim (arXiv 2511.10909)",
    ),
)
"""Devices whose accumulators are known."""


def _candidates() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for device in DEVICES:
        for instruction in device.instructions:
            choice = f"{device.products[0]} {instruction.name}"
            for product in ("", *device.products):
                spelled = f"{product or device.products[0]} {instruction.name}"
                ways = [f"{product} {name}" for name in instruction.names] + ([product] if product else [])
                for way in [f"{w} {instruction.result}" for w in ways] + (ways if instruction.result == FP32 else []):
                    found.setdefault(plain(way), {})[instruction.engine] = spelled if product else choice
    return found


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
"""Synonyms of presets, made from product, instruction and result: "h100 wgmma", "l40s", "mi300x", "h200 mma fp16"."""


def devices_of(engine: str) -> list[str]:
    """Return the devices that use an engine, each as product and instruction, such as "h100 wgmma"."""
    return [
        f"{product} {instruction.name}"
        for device in DEVICES
        for instruction in device.instructions
        if instruction.engine == engine
        for product in device.products
    ]
