"""Vectors of mmasim (MMA-Sim, arXiv 2511.10909), which was compared with the chips themselves; FP32 and FP16 results.

`vectors/mmasim.npz` is written by an interpreter that has fp9's needs, mmasim 2.1.1 and torch:

    python tests/model/sums/mmasim_vectors.py tests/model/sums
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import fp9
from fp9.system.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

DEPTH = 64
COUNT, COUNT_OF_MANY = 48, 6
NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
"""Operands of Blackwell's kind::f8f6f4."""
KINDS = ("normal", "wide", "cancelling", "special")


@dataclass(frozen=True)
class Instruction:
    """A matrix instruction of mmasim and the engine and formats that stand for it."""

    engine: str
    format_a: str
    format_b: str
    architecture: str
    spelling: str
    scaled: bool = False
    count: int = COUNT_OF_MANY

    @property
    def halves(self) -> bool:
        """Whether C and the result are FP16."""
        return fp9.engine(self.engine).output.name == "fp16"

    @property
    def name(self) -> str:
        """Name of its arrays in the file."""
        return "-".join([self.engine + ("_mx" if self.scaled else ""), self.format_a, self.format_b])


def instructions() -> Iterator[Instruction]:
    """Every instruction that the presets stand for, in its smallest shape; those of many pairs with fewer sums."""
    yield from _with_fp32_results()
    for a, b in itertools.product(NARROW, repeat=2):
        if not {a, b} <= {"e4m3", "e5m2"}:
            yield Instruction("blackwell", a, b, "Blackwell", f"m64n8k32.kind::f8f6f4.f32.{a}.{b}")
        yield Instruction("blackwell_fp16", a, b, "Blackwell", f"m64n8k32.kind::f8f6f4.f16.{a}.{b}")
    for a, b in itertools.product(("e4m3", "e5m2"), repeat=2):
        yield Instruction("hopper_fp16", a, b, "Hopper", f"m64n8k32.f16.{a}.{b}")
        yield Instruction("ada_fp16", a, b, "Ada Lovelace", f"m16n8k32.f16.{a}.{b}.f16")
    yield from _with_wide_operands()


def _with_wide_operands() -> Iterator[Instruction]:
    fp16 = {
        "volta": ("Volta", "m8n8k4.{0}.f16.f16.{0}"),
        "ampere": ("Ampere", "m16n8k16.{0}.f16.f16.{0}"),
        "hopper_16bit": ("Hopper", "m64n8k16.{0}.f16.f16"),
    }
    for engine, (architecture, spelling) in fp16.items():
        yield Instruction(engine, "fp16", "fp16", architecture, spelling.format("f32"))
        yield Instruction(f"{engine}_fp16", "fp16", "fp16", architecture, spelling.format("f16"))
    for engine in ("ampere", "hopper_16bit"):
        architecture, spelling = fp16[engine]
        yield Instruction(engine, "bf16", "bf16", architecture, spelling.format("f32").replace(".f16", ".bf16"))
    yield Instruction("ampere_tf32", "tf32", "tf32", "Ampere", "m16n8k8.f32.tf32.tf32.f32")
    yield Instruction("hopper_tf32", "tf32", "tf32", "Hopper", "m64n8k8.f32.tf32.tf32")


def _with_fp32_results() -> Iterator[Instruction]:
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            yield Instruction("hopper", a, b, "Hopper", f"m64n8k32.f32.{a}.{b}", count=COUNT)
            yield Instruction("ada", a, b, "Ada Lovelace", f"m16n8k32.f32.{a}.{b}.f32", count=COUNT)
            spelling = f"m64n8k32.kind::f8f6f4.f32.{a}.{b}"
            yield Instruction("blackwell", a, b, "Blackwell", spelling, count=COUNT)
            spelling = f"m16n8k32.kind::mxf8f6f4.block32.f32.{a}.{b}.f32.ue8m0"
            yield Instruction("blackwell", a, b, "RTX Blackwell", spelling, scaled=True, count=COUNT)
    names = {"e4m3fnuz": "fp8", "e5m2fnuz": "bf8"}
    for a, short_a in names.items():
        for b, short_b in names.items():
            yield Instruction("cdna3", a, b, "CDNA3", f"f32_16x16x32_{short_a}_{short_b}", count=COUNT)


@dataclass(frozen=True)
class Operands:
    """Codes a, b (n, k), FP32 patterns c (n,), and the exponents of the scales of blocks of 32 (n, k / 32)."""

    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[np.uint32]
    scale_a: NDArray[np.int64]
    scale_b: NDArray[np.int64]


def operands(instruction: Instruction, kind: str, count: int, rng: np.random.Generator) -> Operands:
    """Random operands: of one size, of all sizes, of sums that cancel, or with infinities, NaN and zeros."""
    shape = (count, DEPTH)
    a, b = (_codes(fmt, kind, shape, rng) for fmt in (instruction.format_a, instruction.format_b))
    c = rng.standard_normal(count).astype(np.float32)
    if kind == "cancelling":
        order = rng.permutation(DEPTH)
        half = DEPTH // 2
        a[:, order[half:]] = a[:, order[:half]]
        b[:, order[half:]] = fp9.encode(-fp9.decode(b[:, order[:half]], instruction.format_b), instruction.format_b)
        a[:, order[-1]] = _codes(instruction.format_a, "wide", (count,), rng)
        c *= np.ldexp(np.float32(1), rng.integers(-20, 4, count))
    elif kind != "normal":
        c *= np.ldexp(np.float32(1), rng.integers(-60, 60, count))
    patterns = c.view(np.uint32).copy()
    if kind == "special":
        choices = [0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x3F800000]
        patterns = rng.choice(np.array(choices, dtype=np.uint32), count)
    limit = 127 if kind == "special" else 20
    scales = rng.integers(-limit, limit + 1, (2, count, DEPTH // 32))
    return Operands(a, b, patterns, scales[0], scales[1])


def _codes(fmt: str, kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    if kind == "normal":
        return fp9.encode(rng.standard_normal(shape), fmt)
    table = fp9.format(fmt).table
    codes = rng.choice(np.flatnonzero(np.isfinite(table)), shape)
    if kind == "special":
        sparse = np.concatenate([np.flatnonzero(~np.isfinite(table)), [0, 1, 2]])
        codes = np.where(rng.random(shape) < 0.01, rng.choice(sparse, shape), codes)
        codes[rng.random(shape[0]) < 0.25] = 0
    return codes.astype(fp9.format(fmt).dtype)


def mmasim_results(instruction: Instruction, x: Operands) -> NDArray[np.uint32]:
    """What mmasim gives, as FP32 patterns (n,), of FP16 results too."""
    import torch
    from mmasim import amd, nv_ptx

    dtypes = {name: getattr(torch, f"float8_{name}{'fn' if name == 'e4m3' else ''}") for name in _TORCH}
    dtypes |= dict.fromkeys(("e3m2", "e2m3", "e2m1"), torch.uint8)
    dtypes |= {"fp16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32}
    a, b = (torch.from_numpy(codes << _PLACES.get(fmt, 0)).view(dtypes[fmt]) for codes, fmt in _coded(instruction, x))
    c = torch.from_numpy(_addend(instruction, x.c).view(np.float16 if instruction.halves else np.float32))
    if instruction.scaled:
        operation: Any = nv_ptx.MMABlockScale(instruction.architecture, instruction.spelling)
        scales = [
            torch.from_numpy((s + 127).astype(np.uint8)).view(torch.float8_e8m0fnu) for s in (x.scale_a, x.scale_b)
        ]
        for block in range(DEPTH // 32):
            part = slice(32 * block, 32 * block + 32)
            alpha, beta = (s[:, block : block + 1] for s in scales)
            c = operation.dpa(a[:, part], b[:, part], c, alpha, beta)
    else:
        makers = {"Hopper": nv_ptx.WGMMA, "Blackwell": nv_ptx.TCGen05MMA, "CDNA3": amd.MFMA}
        operation = makers.get(instruction.architecture, nv_ptx.MMA)(instruction.architecture, instruction.spelling)
        c = operation.dpa(a, b, c)
    patterns: NDArray[np.uint32] = c.numpy().astype(np.float32).view(np.uint32)
    return patterns


def _addend(instruction: Instruction, c: NDArray[np.uint32]) -> NDArray[Any]:
    """Codes of C in the format of the result."""
    return np.asarray(fp9.encode(c.view(np.float32), "fp16", overflow="inf")) if instruction.halves else c.copy()


_TORCH = ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz")
_PLACES = {"e2m1": 2, "tf32": 13}
"""Lowest bit of a code that is narrower than its host type."""


def _coded(instruction: Instruction, x: Operands) -> list[tuple[NDArray[Any], str]]:
    return [(x.a, instruction.format_a), (x.b, instruction.format_b)]


def fp9_results(instruction: Instruction, x: Operands, c: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
    """What the model gives, as FP32 patterns (n,), of FP16 results too."""
    scales: dict[str, Any] = {}
    if instruction.scaled:
        scales = {"scale_a": x.scale_a, "scale_b": x.scale_b, "block": 32}
    formats = instruction.format_a, instruction.format_b
    start = _addend(instruction, x.c if c is None else c)
    codes: NDArray[np.uint32] = fp9.dot(x.a, x.b, *formats, instruction.engine, start, **scales)
    return np.asarray(fp9.decode(codes, "fp16")).view(np.uint32) if instruction.halves else codes


NVIDIA_NAN = 0x7FFFFFFF
"""mmasim's NaN; the model gives the format's canonical one, 0x7FC00000."""


def with_one_nan(patterns: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """FP32 patterns with every NaN the same."""
    return np.where(np.isnan(patterns.view(np.float32)), np.uint32(NVIDIA_NAN), patterns)


def generate(folder: Path) -> Path:
    """Write `mmasim.npz` and its manifest; returns the file."""
    from importlib.metadata import version

    rng = np.random.default_rng(2511_10909)
    arrays: dict[str, NDArray[Any]] = {}
    for instruction in instructions():
        for kind in KINDS:
            x = operands(instruction, kind, instruction.count, rng)
            name = f"{instruction.name}-{kind}"
            arrays |= {f"{name}-{field}": getattr(x, field) for field in ("a", "b", "c")}
            if instruction.scaled:
                scales = np.stack([x.scale_a, x.scale_b]).astype(np.int8)
                arrays[f"{name}-scales"] = scales
            arrays[f"{name}-result"] = mmasim_results(instruction, x)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    path = folder / "mmasim.npz"
    write_whole(path, buffer.getvalue())
    manifest = {
        "source": f"mmasim {version('mmasim')} on torch {version('torch')}",
        "command": "python tests/model/sums/mmasim_vectors.py tests/model/sums",
        "instructions": {i.name: f"{i.architecture}: {i.spelling}" for i in instructions()},
        "kinds": KINDS,
        "operations": {i.name: i.count for i in instructions()},
        "products": DEPTH,
        "sha256": hashlib.sha256(buffer.getvalue()).hexdigest(),
    }
    write_whole(path.with_suffix(".json"), json.dumps(manifest, indent=1) + "\n")
    return path


def stored(path: Path, instruction: Instruction, kind: str) -> tuple[Operands, NDArray[np.uint32]]:
    """Operands and results of the committed file."""
    with np.load(path) as arrays:
        name = f"{instruction.name}-{kind}"
        zeros = np.zeros((2, instruction.count, DEPTH // 32), dtype=np.int64)
        scales = arrays[f"{name}-scales"].astype(np.int64) if instruction.scaled else zeros
        a, b, c = (arrays[f"{name}-{field}"] for field in ("a", "b", "c"))
        return Operands(a, b, c, scales[0], scales[1]), arrays[f"{name}-result"]


if __name__ == "__main__":
    print(generate(Path(sys.argv[1])))
