"""Measure casts from float32 to 8 bits and back beside other packages and a plain copy, on one thread.

Every package writes into an existing array.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import fp9
from benchmarks.measure import Contender, Result, baseline, measure
from fp9.formats import FAMILIES, NAMED, Format
from fp9.formats.rounding import Rounding

ELEMENTS = 10_000_000
GFLOAT_ELEMENTS = 1_000_000
BINADES = 48


def sources() -> dict[str, np.ndarray]:
    """Return 10 million float32 values of each kind: N(0,1), and spread over 48 binades."""
    generator = np.random.default_rng(0)
    signs = generator.choice(np.float32([-1, 1]), ELEMENTS)
    wide = np.exp2(generator.uniform(-BINADES / 2, BINADES / 2, ELEMENTS)).astype(np.float32) * signs
    return {"N(0,1)": generator.standard_normal(ELEMENTS, dtype=np.float32), f"{BINADES} binades": wide}


def _numpy_type(package: str, name: str, source: np.ndarray, target: Any) -> list[Contender]:
    module = baseline(package)
    if module is None:
        return []
    dtype = np.dtype(getattr(module, name))
    here, there = (source, target.view(dtype)) if source.dtype == np.float32 else (source.view(dtype), target)

    def copy() -> None:
        with np.errstate(all="ignore"):
            np.copyto(there, here, casting="unsafe")

    return [Contender(package, copy)]


def _torch(name: str, source: np.ndarray, target: np.ndarray) -> list[Contender]:
    torch = baseline("torch")
    if torch is None:
        return []
    torch.set_num_threads(1)
    here, there, dtype = torch.from_numpy(source), torch.from_numpy(target), getattr(torch, name)
    if source.dtype == np.float32:
        return [Contender("torch", lambda: there.view(dtype).copy_(here))]
    return [Contender("torch", lambda: there.copy_(here.view(dtype)))]


def _ours(x: np.ndarray, codes: np.ndarray, fmt: str | Format, rounding: str | Rounding, **options: Any) -> Contender:
    return Contender("fp9", lambda: fp9.encode(x, fmt, rounding, out=codes, threads=1, **options))


def _gfloat_sr(x: np.ndarray, bits: np.ndarray) -> Callable[[], object] | None:
    gfloat = baseline("gfloat")
    if gfloat is None:
        return None
    formats = importlib.import_module("gfloat.formats")
    part, randoms = x[:GFLOAT_ELEMENTS].astype(np.float64), bits[:GFLOAT_ELEMENTS].astype(np.int64)
    mode = (
        gfloat.RoundMode.StochasticFast if hasattr(gfloat.RoundMode, "StochasticFast") else gfloat.RoundMode.Stochastic
    )
    return lambda: gfloat.round_ndarray(
        formats.format_info_ocp_e4m3, part, mode, sat=True, srbits=randoms, srnumbits=16
    )


def run() -> list[Result]:
    results: list[Result] = []
    codes, numbers = np.empty(ELEMENTS, np.uint8), np.empty(ELEMENTS, np.float32)
    for spread, x in sources().items():
        bits = np.random.default_rng(1).integers(0, 1 << 16, ELEMENTS, dtype=np.uint16)
        for name, alias in (("e4m3", "float8_e4m3fn"), ("e5m2", "float8_e5m2")):
            baselines = _numpy_type("ml_dtypes", alias, x, codes) + _torch(alias, x, codes)
            results += measure(f"float32 -> {name} rne, {spread}", ELEMENTS, [_ours(x, codes, name, "rne"), *baselines])
        hif8 = _numpy_type("en_dtypes", "hifloat8", x, codes)
        results += measure(f"float32 -> hif8 rna, {spread}", ELEMENTS, [_ours(x, codes, "hif8", "rna"), *hif8])
        results += measure(f"float32 -> hif8 hybrid, {spread}", ELEMENTS, [_ours(x, codes, "hif8", "hybrid")])
        stochastic = _ours(x, codes, "e4m3", "sr", random_bits=bits)
        ours = measure(f"float32 -> e4m3 sr, {spread}", ELEMENTS, [stochastic])
        theirs = _gfloat_sr(x, bits)
        results += ours
        if theirs is not None:
            results += measure(ours[0].operation, GFLOAT_ELEMENTS, [Contender("gfloat", theirs)])
    return results + _decoding(numbers) + _doubles() + _counting() + _limit(numbers)


def _decoding(numbers: np.ndarray) -> list[Result]:
    codes = np.random.default_rng(2).integers(0, 256, ELEMENTS, dtype=np.uint8)
    results = []
    for name, package, alias in (("e4m3", "ml_dtypes", "float8_e4m3fn"), ("hif8", "en_dtypes", "hifloat8")):
        table = fp9.format(name).table.astype(np.float32)
        contenders = [
            Contender("fp9", lambda name=name: fp9.decode(codes, name, out=numbers, threads=1)),
            *_numpy_type(package, alias, codes, numbers),
            *(_torch(alias, codes, numbers) if name == "e4m3" else []),
            Contender("NumPy take", lambda table=table: np.take(table, codes, out=numbers)),
        ]
        results += measure(f"{name} -> float32", ELEMENTS, contenders)
    return results


def _doubles() -> list[Result]:
    """Measure casts of float64, casts into more than 16 bits, and casts with flags."""
    narrow, results = sources()["N(0,1)"], []
    for source in (narrow, narrow.astype(np.float64) * (1 + 2.0**-30)):
        for name in ("e4m3", "hif8", "fp16", "bf16", "dlfloat16", "e8m13"):
            codes = np.empty(ELEMENTS, fp9.format(name).dtype)
            rounding = fp9.format(name).default_rounding
            operation = f"{source.dtype.name} -> {name} {rounding.value}"
            results += measure(operation, ELEMENTS, [_ours(source, codes, name, rounding)])
            flagged = _ours(source, codes, name, rounding, flags=True)
            results += measure(f"{operation} with flags", ELEMENTS, [flagged])
    return results


def _counting() -> list[Result]:
    """Measure casts of every format with event counts, beside the same casts without counts."""
    x, results = sources()["N(0,1)"], []
    own = [(fmt, fmt.default_rounding) for fmt in (*NAMED.values(), *(family() for family in FAMILIES.values()))]
    for fmt, rounding in [*own, (NAMED["e4m3"], Rounding.RTZ), (NAMED["hif8"], Rounding.HYBRID)]:
        codes = np.empty(ELEMENTS, fmt.dtype)
        alone = Contender("without counts", _ours(x, codes, fmt, rounding).run)
        operation = f"float32 -> {fmt.name} {rounding.value} with counts"
        results += measure(operation, ELEMENTS, [_ours(x, codes, fmt, rounding, counts=True), alone])
    return results


def _limit(numbers: np.ndarray) -> list[Result]:
    """Measure a cast of a float32 array beside a copy of the array, which is limited by memory."""
    x, codes = sources()["N(0,1)"], np.empty(ELEMENTS, np.uint8)
    copy = Contender("copy", lambda: np.copyto(numbers, x))
    results = measure("float32 -> e4m3 rne beside a copy", ELEMENTS, [_ours(x, codes, "e4m3", "rne"), copy])
    both = Contender("fp9", lambda: fp9.encode(x, "e4m3", out=codes, threads=2))
    one = Contender("one thread", lambda: fp9.encode(x, "e4m3", out=codes, threads=1))
    return results + measure("float32 -> e4m3 rne on two threads", ELEMENTS, [both, one])
