"""Random calls against mmaemu 0.1.0, which recorded GPUs confirm. Its CPU model is another implementation.

    pytest tests/model/profiles/test_mmaemu.py -s

prints the number of calls and both times.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest

import fp9
from fp9.profiles import sums
from fp9.testing import assert_equal_bits

torch = pytest.importorskip("torch")
mmaemu = pytest.importorskip("mmaemu", reason="mmaemu 0.1.0 is not installed; `pip install mmaemu==0.1.0` adds it")

OUTPUTS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
SPLITS = {"h100": ("hopper", ("contiguous",)), "rtx4060": ("ada", ("serial", "pairwise"))}
TYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


def _tensor(rng: np.random.Generator, shape: tuple[int, ...], fmt: str) -> Any:
    """Random codes: of normal numbers at a random scale, any finite codes, or also a few infinities and NaN."""
    kind = rng.choice(["normal", "finite", "any"], p=[0.5, 0.3, 0.2])
    if kind == "normal":
        numbers = rng.normal(size=shape) * 2.0 ** rng.integers(-6, 6)
        return torch.from_numpy(fp9.encode(numbers, fmt)).view(TYPES[fmt])
    codes = rng.integers(0, 256, shape).astype(np.uint8)
    finite = np.isfinite(fp9.format(fp9.format(fmt)).table)
    allowed = finite[codes] | ((rng.random(shape) < 0.05) if kind == "any" else False)
    return torch.from_numpy(np.where(allowed, codes, 0)).view(TYPES[fmt])


def _call(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of one call, for fp9 and for mmaemu."""
    ours = str(rng.choice(list(SPLITS)))
    theirs, splits = SPLITS[ours]
    fmt_a, fmt_b = ("e4m3", "e4m3") if rng.random() < 0.6 else [("e4m3", "e5m2"), ("e5m2", "e4m3")][rng.integers(2)]
    out = str(rng.choice(["fp32", "bf16", "fp16", "e4m3"] + (["e5m2"] if fmt_a != fmt_b else [])))
    m, n, k = (int(16 * rng.integers(1, top)) for top in (3, 3, 65))
    parts, split = int(rng.choice([1, 1, 2, 3, 4, 7])), str(rng.choice(splits))
    scales = [float(np.float32(rng.uniform(0.5, 2) * 2.0 ** rng.integers(-8, 4))) for _ in range(3)]
    a, b, fast = _tensor(rng, (m, k), fmt_a), _tensor(rng, (n, k), fmt_b).t(), bool(rng.random() < 0.5)
    common = {"scale_result": torch.tensor(scales[2]) if out in TYPES else None, "use_fast_accum": fast}
    common |= {"a": a, "b": b, "scale_a": torch.tensor(scales[0]), "scale_b": torch.tensor(scales[1])}
    choice = {"split_k": parts, "split": split if parts > 1 else None}
    return (
        common | choice | {"profile": ours, "out_dtype": out},
        common | {"profile": theirs, "splitk": parts, "split": split, "out_dtype": getattr(torch, OUTPUTS[out])},
    )


def _theirs(a: Any, b: Any, scale_a: Any, scale_b: Any, *, split: str, splitk: int, **options: Any) -> Any:
    chosen = (splitk, split) if splitk > 1 else 1
    return mmaemu.scaled_mm(a, b, scale_a, scale_b, splitk=chosen, **options)


def compare(calls: int, seed: int) -> tuple[int, float, float]:
    """Compare random calls. Return how many both answer, and the seconds of fp9 and of mmaemu."""
    rng, both, own, other = np.random.default_rng(seed), 0, 0.0, 0.0
    for _ in range(calls):
        ours, theirs = _call(rng)
        begin = time.process_time()
        got = fp9.scaled_mm(**ours)
        middle = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = _theirs(**theirs)
        own, other, both = own + middle - begin, other + time.process_time() - middle, both + 1
        assert_equal_bits(got, wanted, ours["out_dtype"])
    return both, own, other


@pytest.mark.parametrize("calls", [20, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.long])])
def test_calls_have_the_bits_of_mmaemu(calls: int) -> None:
    both, own, other = compare(calls, seed=calls)
    assert both == calls
    print(f"{both} calls, 0 bits differ; processor time: fp9 {own:.1f} s, mmaemu {other:.1f} s, {other / own:.0f} x")


@pytest.mark.slow
def test_a_large_product_is_many_times_as_fast() -> None:
    rng = np.random.default_rng(1)
    sides = ((64, 1920), (1440, 1920))
    a, b = (torch.from_numpy(fp9.encode(rng.normal(size=side), "e4m3")).view(TYPES["e4m3"]) for side in sides)
    own = []
    for _ in range(4):
        begin = time.process_time()
        got = sums(a, b.t(), True, profile="h100", split_k=1)
        own.append(time.process_time() - begin)
    begin = time.process_time()
    wanted = mmaemu.accumulate(a, b, use_fast_accum=True, splitk=1)
    other = time.process_time() - begin
    assert_equal_bits(got, wanted, "fp32")
    print(f"64 x 1920 x 1440, processor time: fp9 {min(own):.3f} s, mmaemu {other:.1f} s, {other / min(own):.0f} x")
    assert other > 20 * min(own)
