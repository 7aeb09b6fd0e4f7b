"""Vectors of mmasim for products of scaled blocks: NVFP4 and MXFP4, and the 25 pairs of MXFP8, MXFP6 and MXFP4.

`mmasim_blocks.npz` is written by an interpreter that has fp9's needs, mmasim 2.1.1 and torch:

    python tests/model/sums/mmasim_blocks.py write tests/model/sums
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fp9
from fp9.system.files import write_whole

DEPTH = 128
COUNT = 12
KINDS = ("near", "sparse", "cancelling", "any")
"""Scales near 1; many zeros; sums that cancel; any codes, NaN among the scales and addends."""
ELEMENTS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")
PART = 20_000


@dataclass(frozen=True)
class Form:
    """A block-scaled matrix instruction of mmasim and what stands for it."""

    engine: str
    format_a: str
    format_b: str
    scale: str
    block: int
    maker: str
    architecture: str
    spelling: str

    @property
    def name(self) -> str:
        """Name of its arrays in the file."""
        kind = self.spelling.split("kind::")[1].split(".")[0]
        short = "".join(word[0] for word in self.architecture.split())
        return f"{short}-{kind}-{self.format_a}-{self.format_b}-{self.scale}-{self.block}"


def forms() -> Iterator[Form]:
    """Every form of mxf4 and mxf4nvf4, and every pair of mxf8f6f4, in their smallest shapes."""
    for scale, block in (("ue4m3", 16), ("e8m0", 16), ("e8m0", 32)):
        word = scale if scale.startswith("u") else f"u{scale}"
        parts = "e2m1", "e2m1", scale, block
        warp, whole = "MMABlockScale", "TCGen05MMABlockScale"
        for kind in ("mxf4nvf4", "mxf4") if block == 32 else ("mxf4nvf4",):
            head = f"kind::{kind}.block{block}.f32.e2m1.e2m1"
            yield Form("blackwell_nvfp4", *parts, warp, "RTX Blackwell", f"m16n8k64.{head}.f32.{word}")
            yield Form("blackwell_nvfp4", *parts, whole, "Blackwell", f"m128n8k64.{head}.{word}")
    for a in ELEMENTS:
        for b in ELEMENTS:
            spelling = f"m16n8k32.kind::mxf8f6f4.block32.f32.{a}.{b}.f32.ue8m0"
            yield Form("blackwell", a, b, "e8m0", 32, "MMABlockScale", "RTX Blackwell", spelling)


@dataclass(frozen=True)
class Operands:
    """Codes a, b (n, k) and of their scales (n, k / block), FP32 patterns c (n,)."""

    a: NDArray[np.uint8]
    b: NDArray[np.uint8]
    scale_a: NDArray[np.uint8]
    scale_b: NDArray[np.uint8]
    c: NDArray[np.uint32]


def operands(form: Form, kind: str, count: int, rng: np.random.Generator) -> Operands:
    """Random operands of a kind."""
    shape = (count, DEPTH)
    a, b = (_codes(fmt, kind, shape, rng) for fmt in (form.format_a, form.format_b))
    if kind == "sparse":
        a[rng.random(shape) < 0.7] = 0
        a[rng.random(count) < 0.2] = 0
    if kind == "cancelling":
        a[:, 1::2] = a[:, ::2]
        b[:, 1::2] = b[:, ::2] ^ (1 << (fp9.format(form.format_b).bits - 1))
        moved = rng.random(shape) < 0.02
        b[moved] ^= 1
    scale = fp9.format(form.scale)
    scales = rng.integers(0, 1 << scale.bits, (2, count, DEPTH // form.block))
    if kind != "any":
        one = int(fp9.encode(1.0, scale))
        scales = one + rng.integers(-20, 21, scales.shape)
    c = rng.standard_normal(count).astype(np.float32) * np.exp2(rng.integers(-40, 40, count)).astype(np.float32)
    patterns = c.view(np.uint32).copy()
    if kind == "any":
        patterns = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    if kind == "sparse":
        patterns[rng.random(count) < 0.5] = 0
    return Operands(a, b, *scales.astype(np.uint8), patterns)


def _codes(fmt: str, kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.uint8]:
    codes = rng.integers(0, 1 << fp9.format(fmt).bits, shape).astype(np.uint8)
    special = ~np.isfinite(fp9.format(fmt).table[codes])
    if kind == "any":
        special &= rng.random(shape) < 0.98
    return np.where(special, np.uint8(1), codes)


def fp9_results(form: Form, x: Operands) -> NDArray[np.uint32]:
    """What the model gives, as FP32 patterns (n,)."""
    scales: dict[str, Any] = {"scale_a": x.scale_a, "scale_b": x.scale_b, "scale_format": form.scale}
    codes: NDArray[np.uint32] = fp9.dot(
        x.a, x.b, form.format_a, form.format_b, form.engine, x.c, block=form.block, **scales
    )
    return codes


def mmasim_results(form: Form, x: Operands) -> NDArray[np.uint32]:
    """What mmasim gives, as FP32 patterns (n,)."""
    import torch
    from mmasim import nv_ptx

    operation = getattr(nv_ptx, form.maker)(form.architecture, form.spelling)
    scale = {"ue4m3": torch.float8_e4m3fn, "e8m0": torch.float8_e8m0fnu}[form.scale]
    alpha, beta = (torch.from_numpy(codes.copy()).view(scale) for codes in (x.scale_a, x.scale_b))
    c = torch.from_numpy(x.c.view(np.float32).copy())
    if form.engine == "blackwell_nvfp4":
        a, b = (torch.from_numpy(codes[:, ::2] << 4 | codes[:, 1::2]) for codes in (x.a, x.b))
        c = operation.dpa(a, b, c, alpha, beta)
    else:
        a, b = _unpacked(form.format_a, x.a), _unpacked(form.format_b, x.b)
        for i in range(DEPTH // form.block):
            part = slice(form.block * i, form.block * (i + 1))
            c = operation.dpa(a[:, part], b[:, part], c, alpha[:, i : i + 1], beta[:, i : i + 1])
    patterns: NDArray[np.uint32] = c.numpy().view(np.uint32)
    return patterns


def _unpacked(fmt: str, codes: NDArray[np.uint8]) -> Any:
    """FP8 as torch's types; FP6 in the low 6 bits of a byte, FP4 in bits 5:2."""
    import torch

    tensor = torch.from_numpy(codes << 2 if fmt == "e2m1" else codes)
    dtypes = {"e5m2": torch.float8_e5m2, "e4m3": torch.float8_e4m3fn}
    return tensor.view(dtypes[fmt]) if fmt in dtypes else tensor


def with_one_nan(patterns: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """FP32 patterns with every NaN the same."""
    return np.where(np.isnan(patterns.view(np.float32)), np.uint32(0x7FFFFFFF), patterns)


def generate(folder: Path) -> Path:
    """Write `mmasim_blocks.npz` and its manifest; returns the file."""
    from importlib.metadata import version

    rng = np.random.default_rng(2511_10909)
    arrays: dict[str, NDArray[Any]] = {}
    for form in forms():
        for kind in KINDS:
            x = operands(form, kind, COUNT, rng)
            arrays |= {f"{form.name}-{kind}-{field}": getattr(x, field) for field in Operands.__dataclass_fields__}
            arrays[f"{form.name}-{kind}-result"] = mmasim_results(form, x)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    path = folder / "mmasim_blocks.npz"
    write_whole(path, buffer.getvalue())
    manifest = {
        "source": f"mmasim {version('mmasim')} on torch {version('torch')}",
        "command": "python tests/model/sums/mmasim_blocks.py write tests/model/sums",
        "forms": {form.name: f"{form.architecture}: {form.spelling}" for form in forms()},
        "kinds": KINDS,
        "operations": COUNT,
        "products": DEPTH,
        "sha256": hashlib.sha256(buffer.getvalue()).hexdigest(),
    }
    write_whole(path.with_suffix(".json"), json.dumps(manifest, indent=1) + "\n")
    return path


def stored(path: Path, form: Form, kind: str) -> tuple[Operands, NDArray[np.uint32]]:
    """Operands and results of the committed file."""
    with np.load(path) as arrays:
        fields = [arrays[f"{form.name}-{kind}-{field}"] for field in Operands.__dataclass_fields__]
        return Operands(*fields), arrays[f"{form.name}-{kind}-result"]


def differing(form: Form, dots: int, seed: int = 0) -> tuple[int, int]:
    """How many of about so many random dots of a form were compared, and how many differ."""
    rng = np.random.default_rng(seed)
    compared = different = 0
    while compared < dots:
        for kind in KINDS:
            x = operands(form, kind, min(PART, -(-dots // len(KINDS))), rng)
            ours, theirs = fp9_results(form, x), mmasim_results(form, x)
            compared += len(ours)
            different += int(np.count_nonzero(with_one_nan(ours) != with_one_nan(theirs)))
    return compared, different


if __name__ == "__main__":
    assert sys.argv[1] == "write", __doc__
    print(generate(Path(sys.argv[2])))
