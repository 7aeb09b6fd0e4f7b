"""Scales and elements of third-party packages beside ours, and the table of the record:

    PYTHONPATH=FOLDERS python -m tests.model.blocks.comparison records/third-party/blocks.json

FOLDERS hold torch and torchao (pip install --target). Blocks of 32 FP32 numbers: as amax every bfloat16 magnitude, and
the FP32 numbers around each where the scale steps; the others drawn below it, of both signs. What differs is explained
by the rules below, or counted as unexplained.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fp9
from fp9.blocks import quantise
from fp9.formats.blocks import block_format
from fp9.system.files import write_whole

BLOCKS = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4")
RULES = ("floor", "ceil", "even", "rceil")
BESIDE = 2
"""FP32 numbers on both sides of the largest element times a power of two."""

DIFFERENCES = {
    "logarithm": "torchao rounds the quotient and its logarithm in FP32",
    "divisor": "with the scale 2^-127, torchao divides numbers by 2^-126",
    "undivided": "with the scale 2^-127, torchao does not divide numbers",
    "least": "torchao's NVFP4 scales are at least 2^-6",
    "reciprocal": "torchao multiplies numbers by the rounded reciprocal of the scale",
}


@dataclass(frozen=True)
class Compared:
    """A package's rule for one format: blocks, those whose scale differs, elements that differ, and why; `unexplained`
    counts blocks."""

    project: str
    block: str
    rule: str
    blocks: int
    scales: int
    elements: int
    reasons: dict[str, int]
    unexplained: int


def inputs(block: str, seed: int = 0) -> NDArray[np.float32]:
    """Blocks of numbers (n, length), each amax once, in a drawn place and of a drawn sign."""
    rng, length = np.random.default_rng(seed), block_format(block).length
    steps = np.float32(block_format(block).element.max) * np.exp2(np.arange(-110, 100, dtype=np.float32))
    beside = steps.view(np.uint32)[:, None] + np.arange(-BESIDE, BESIDE + 1).astype(np.uint32)
    amax = np.concatenate([np.arange(1, 0x7F80, dtype=np.uint32) << 16, beside.reshape(-1)]).view(np.float32)
    drawn = (amax[:, None] * rng.random((amax.size, length), np.float32)) * np.exp2(
        -rng.integers(0, 12, (amax.size, length))
    )
    drawn = drawn.astype(np.float32)
    drawn[np.arange(amax.size), rng.integers(0, length, amax.size)] = amax
    return np.asarray(drawn * rng.choice(np.float32([-1, 1]), drawn.shape), dtype=np.float32)


def torchao(x: NDArray[np.float32], block: str, rule: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Elements and scales by `to_mx`."""
    import torch  # optional
    from torchao.prototype.mx_formats import constants, mx_tensor  # optional
    from torchao.prototype.mx_formats.config import ScaleCalculationMode  # optional

    kinds: dict[str, Any] = {
        "e4m3": torch.float8_e4m3fn,
        "e5m2": torch.float8_e5m2,
        "e2m3": constants.DTYPE_FP6_E2M3,
        "e3m2": constants.DTYPE_FP6_E3M2,
        "e2m1": torch.float4_e2m1fn_x2,
    }
    mode = ScaleCalculationMode[rule.upper()]
    scales, data = mx_tensor.to_mx(torch.from_numpy(x), kinds[block_format(block).element.name], 32, mode)
    elements = data.view(torch.uint8).numpy()
    elements = elements if elements.shape == x.shape else _unpacked(elements, x.shape)
    return elements, scales.view(torch.uint8).numpy().reshape(-1)


def _unpacked(pairs: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Elements that lie two in a byte, the first one below."""
    return np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(shape)


def compared_nvfp4(x: NDArray[np.float32]) -> Compared:
    """NVFP4 with the scales of its blocks alone, by `nvfp4_quantize`."""
    import torch  # optional
    from torchao.prototype.mx_formats import nvfp4_tensor  # optional

    their_scales, pairs = nvfp4_tensor.nvfp4_quantize(torch.from_numpy(x))
    scales = their_scales.view(torch.uint8).numpy().reshape(-1)
    elements = _unpacked(pairs.view(torch.uint8).numpy(), x.shape)
    ours = quantise(x, "nvfp4", rule="rne")
    own_elements, own_scales = np.asarray(ours.elements), np.asarray(ours.scales)[:, 0]
    least = np.maximum(own_scales, fp9.encode(2.0**-6, "ue4m3"))
    reciprocals = np.float32(1) / fp9.decode(scales, "ue4m3").astype(np.float32)
    with np.errstate(over="ignore"):
        by_reciprocal = fp9.encode(x * reciprocals[:, None], "e2m1", "rne", "saturate")
    other = (elements != own_elements).any(axis=1)
    reasons = {"least": int((scales != own_scales).sum()), "reciprocal": int((other & (scales == own_scales)).sum())}
    unexplained = (scales != least) | (elements != by_reciprocal).any(axis=1)
    return Compared(
        _torchao(),
        "nvfp4",
        "rne",
        len(x),
        int((scales != own_scales).sum()),
        int((elements != own_elements).sum()),
        reasons,
        int(unexplained.sum()),
    )


def _torchao() -> str:
    return f"torchao {importlib.metadata.version('torchao')}"


def compared(x: NDArray[np.float32], block: str, rule: str) -> Compared:
    """One rule of one format, and what explains where they differ."""
    elements, scales = torchao(x, block, rule)
    ours = quantise(x, block, rule=rule)
    own_elements, own_scales = np.asarray(ours.elements), np.asarray(ours.scales)[:, 0]
    other_scale, other = scales != own_scales, (elements != own_elements).any(axis=1)
    by_logarithm = other_scale & (_by_logarithm(x, block, rule) == scales)
    rounded = _divided(x, block, scales, rule) == elements
    low = ~other_scale & other & (scales == 0) & rounded.all(axis=1)
    nan = scales == 255
    reasons = {"logarithm": int(by_logarithm.sum()), "undivided" if rule == "rceil" else "divisor": int(low.sum())}
    unexplained = (other_scale & ~by_logarithm) | (~rounded.all(axis=1) & ~nan) | (other & ~other_scale & ~low)
    return Compared(
        _torchao(),
        block,
        rule,
        len(x),
        int(other_scale.sum()),
        int((elements != own_elements).sum()),
        {name: count for name, count in sorted(reasons.items()) if count},
        int(unexplained.sum()),
    )


def _by_logarithm(x: NDArray[np.float32], block: str, rule: str) -> NDArray[np.int64]:
    """Codes of the scale by a division and a logarithm in FP32."""
    if rule != "rceil":
        return np.full(len(x), -1)
    import torch  # optional

    descale = torch.from_numpy(np.abs(x).max(axis=1)) / block_format(block).element.max
    exponents = torch.ceil(torch.log2(descale)).numpy()
    return np.asarray(np.clip(exponents, -127, 127) + 127, dtype=np.int64)


def _divided(x: NDArray[np.float32], block: str, scales: NDArray[np.uint8], rule: str) -> NDArray[np.uint8]:
    """Elements of numbers over the scale that is taken for a code, rounded once."""
    lowest = 1.0 if rule == "rceil" else 2.0**-126
    divisor = np.where(scales == 0, lowest, np.exp2(scales.astype(np.float64) - 127))
    fmt = block_format(block).element
    return np.asarray(fp9.encode(x.astype(np.float64) / divisor[:, None], fmt, "rne", "saturate"))


def table(rows: Sequence[Compared]) -> str:
    """The comparison as a table of Markdown."""
    lines = [
        "| package | rule | blocks | scales differ | elements differ | unexplained | why |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for project, rule in dict.fromkeys((row.project, row.rule) for row in rows):
        own = [row for row in rows if (row.project, row.rule) == (project, rule)]
        counts = [sum(getattr(row, name) for row in own) for name in ("blocks", "scales", "elements", "unexplained")]
        why = "; ".join(DIFFERENCES[name] for name in DIFFERENCES if any(name in row.reasons for row in own))
        lines.append(f"| {project} | `{rule}` | " + " | ".join(f"{count:,}" for count in counts) + f" | {why or '-'} |")
    return "\n".join(lines) + "\n"


def read(path: Path) -> list[Compared]:
    """The comparisons of a record."""
    return [Compared(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    found = [compared(inputs(block), block, rule) for rule in RULES for block in BLOCKS]
    found.append(compared_nvfp4(inputs("nvfp4")))
    write_whole(Path(sys.argv[1]), json.dumps([asdict(row) for row in found], indent=1) + "\n")
    print(table(found))
