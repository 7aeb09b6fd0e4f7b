"""Measurement of the rounding errors of accumulators, and reproduction of published experiments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode, encode
from fp9.engines import Engine, engine
from fp9.formats import format
from fp9.sums.products import dot

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Progress = Callable[[str, int, int], None]
    Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]

DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "half_normal": lambda rng, shape: np.abs(rng.normal(size=shape)),
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    # Mean 1, standard deviation 1.
    "uniform_mean_1": lambda rng, shape: rng.uniform(1 - np.sqrt(3), 1 + np.sqrt(3), size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape) * rng.choice([-1.0, 1.0], size=shape),
}


@dataclass(frozen=True)
class Errors:
    """Rounding errors of one accumulator model, measured on many dot products of length `depth`."""

    engine: str
    depth: int
    # Mean, median and largest |error| / |exact|.
    mean: float
    median: float
    largest: float
    # Root mean square of the errors, divided by the root mean square of the exact sums.
    relative: float
    # Largest |error|, divided by the root mean square of the exact sums.
    worst: float
    # Mean signed error, divided by the mean |exact|.
    bias: float


def sum_errors(
    a: NDArray[Any],
    b: NDArray[Any],
    formats: tuple[str, str],
    engines: Sequence[Engine | str],
    depths: Sequence[int],
    progress: Progress | None = None,
) -> list[Errors]:
    """Return each accumulator model's rounding errors in the sums of the first K products, for each K in `depths`.

    `a` and `b` hold codes (n, k). Sums whose exact value is 0, infinite or NaN are excluded.
    """
    for depth in depths:
        if not 1 <= depth <= a.shape[1]:
            raise ValueError(f"K = {depth} given; the data have {a.shape[1]} products: give at most as many")
    chosen = [engine(e) for e in engines]
    errors = []
    for i, depth in enumerate(depths):
        part_a, part_b = np.ascontiguousarray(a[:, :depth]), np.ascontiguousarray(b[:, :depth])
        exact = _exact(part_a, part_b, formats)
        for j, one in enumerate(chosen):
            sums = decode(dot(part_a, part_b, *formats, one), one.output).astype(np.float64)
            errors.append(_errors(one.name, depth, sums, exact))
            if progress:
                progress(f"{one.name}, K = {depth}", i * len(chosen) + j + 1, len(depths) * len(chosen))
    return errors


def _exact(a: NDArray[Any], b: NDArray[Any], formats: tuple[str, str]) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = decode(dot(a, b, *formats, "exact"), "fp32").astype(np.float64)
    return numbers


def _errors(name: str, depth: int, sums: NDArray[np.float64], exact: NDArray[np.float64]) -> Errors:
    usable = np.isfinite(exact) & (exact != 0)
    if not usable.any():
        raise ValueError(f"no sum of {depth} products is finite and not 0; give other data")
    with np.errstate(invalid="ignore", over="ignore"):
        error, size = (sums - exact)[usable], np.abs(exact[usable])
        ratio = np.abs(error) / size
        return Errors(
            name,
            depth,
            mean=float(ratio.mean()),
            median=float(np.median(ratio)),
            largest=float(ratio.max()),
            relative=float(np.sqrt((error**2).mean() / (size**2).mean())),
            worst=float(np.abs(error).max() / np.sqrt((size**2).mean())),
            bias=float(error.mean() / size.mean()),
        )


def draw_codes(distribution: str, fmt: str, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    """Return the codes of random numbers with a built-in distribution."""
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"distribution {distribution!r} is not known; choose one of {', '.join(DISTRIBUTIONS)}")
    codes: NDArray[Any] = encode(DISTRIBUTIONS[distribution](rng, shape), format(fmt))
    return codes


def operands(
    formats: tuple[str, str],
    sums: int,
    depth: int,
    distribution: str,
    seed: int,
    files: tuple[Path | None, Path | None] = (None, None),
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the codes of both operands as two arrays of the shape (n, k).

    The numbers come from two .npy files. Without files, the function generates `sums` rows of `depth` random numbers.
    """
    if files == (None, None):
        rng = np.random.default_rng(seed)
        shape = (sums, depth or DEFAULT_DEPTH)
        if math.prod(shape) > MOST_PRODUCTS:
            raise ValueError(
                f"{shape[0]:,} sums of {shape[1]:,} products given; give at most {MOST_PRODUCTS:,} products in all"
            )
        return draw_codes(distribution, formats[0], shape, rng), draw_codes(distribution, formats[1], shape, rng)
    if files[0] is None or files[1] is None:
        raise ValueError("one file of numbers given; give both operands")
    a, b = _loaded(files[0]), _loaded(files[1])
    if a.ndim != 2 or a.shape != b.shape:
        raise ValueError(f"numbers of shapes {a.shape} and {b.shape} given; give two arrays of the same shape (n, k)")
    return encode(a, format(formats[0])), encode(b, format(formats[1]))


DEFAULT_DEPTH = 4096
# Operands, sums and exact sums are in memory at once.
MOST_PRODUCTS = 1 << 27


def _loaded(file: Path) -> NDArray[Any]:
    try:
        numbers = np.load(file, allow_pickle=False)
    except (ValueError, EOFError):
        numbers = None
    if not isinstance(numbers, np.ndarray):
        raise ValueError(f"{file} is no .npy file of numbers; write one with numpy.save")
    return numbers


# --- published experiments --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """Published experiment: its set-up, and the rounding errors that the publication reports."""

    name: str
    source: str
    setup: str
    distribution: str
    formats: tuple[str, str]
    engines: tuple[str, ...]
    depths: tuple[int, ...]
    measure: str
    # Published errors by accumulator model and depth.
    figures: dict[tuple[str, int], str]
    sums: int = 256


PUBLISHED: dict[str, Published] = {
    p.name: p
    for p in (
        Published(
            "swamping",
            "Wang et al., NeurIPS 2018, section 3.1 and Fig. 3b",
            "inner products of vectors from a uniform distribution of mean 1 and standard deviation 1, operands in "
            "1.5.2, sums in 1.6.9 (FP16), rounded to nearest, against chunks",
            "uniform_mean_1",
            ("hfp8_152", "hfp8_152"),
            ("dlfloat", "chunked(L=8)", "chunked(L=32)", "chunked(L=64)", "chunked(L=256)", "fma_fp32"),
            (64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536),
            "bias",
            {
                ("dlfloat", 4096): "sums stall at lengths of 4096 and more",
                ("chunked", 65536): "follows FP32; chunks of 32 to 256 are best",
            },
            sums=32,
        ),
        Published(
            "exsdotp",
            "Bertaccini et al., arXiv 2207.03192, ExSdotp",
            "sums of n products of normally distributed FP8 (e5m2) operands in FP16: two products and the addend with "
            "one rounding, against two fused multiply-adds",
            "normal",
            ("e5m2", "e5m2"),
            ("fma_fp16(products=2)", "fma_fp16"),
            (500, 1000, 2000),
            "median",
            {
                ("fma_fp16(products=2)", 500): "5.9e-4",
                ("fma_fp16(products=2)", 1000): "2.7e-3",
                ("fma_fp16(products=2)", 2000): "3.9e-3",
                ("fma_fp16", 500): "5.9e-4",
                ("fma_fp16", 1000): "8.2e-3",
                ("fma_fp16", 2000): "1.2e-2",
            },
            sums=4096,
        ),
        Published(
            "deepseek",
            "DeepSeek-V3, arXiv 2412.19437, section 3.3.2",
            "GEMM of two random matrices, K = 4096, e4m3 operands, on Hopper's tensor core; distribution and "
            "measure are not published: normal, largest error over rms result, here",
            "normal",
            ("e4m3", "e4m3"),
            ("hopper", "deepseek", "blackwell", "fma_fp32"),
            (128, 512, 1024, 2048, 4096),
            "worst",
            {("hopper", 4096): "nearly 2 %", ("deepseek", 4096): "promotion every 128 products removes it"},
            sums=4096,
        ),
    )
}


def reproduce(name: str, seed: int = 0, progress: Progress | None = None) -> list[Errors]:
    if name not in PUBLISHED:
        raise ValueError(f"experiment {name!r} is not known; choose one of {', '.join(PUBLISHED)}")
    experiment = PUBLISHED[name]
    rng = np.random.default_rng(seed)
    shape = (experiment.sums, max(experiment.depths))
    a, b = (draw_codes(experiment.distribution, fmt, shape, rng) for fmt in experiment.formats)
    return sum_errors(a, b, experiment.formats, experiment.engines, experiment.depths, progress)
