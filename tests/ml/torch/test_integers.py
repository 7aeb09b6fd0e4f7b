"""Products in integer operations of torch have the bits of the kernels, for every preset and special number."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.units.spread import draw

torch = pytest.importorskip("torch")

import fp9  # noqa: E402
from fp9.engines import ENGINES  # noqa: E402
from fp9.formats import Format  # noqa: E402
from fp9.units import Dot  # noqa: E402
from fp9.units.toml import build  # noqa: E402
from fp9_ml.torch import integers  # noqa: E402
from fp9_ml.torch.integers import Product, matmul  # noqa: E402

GROUPED = [name for name, engine in ENGINES.items() if engine.step.group is not None]
VARIANTS = [
    "hopper(chunk=128,promotion=fp32)",
    "blackwell(zero_exponent=2,products=4)",
    "ada(zero_exponent=-3)",
    "ampere(window=20,rounding=rne)",
    "hopper(result=bf16)",
    "hopper_fp16(truncation=floor,chunk=64)",
    "ada(rounding=rna)",
]
PAIRS = [("e5m2", "e4m3"), ("e5m2", "e5m2"), ("hif8", "hif8"), ("hfp8_143", "hfp8_152"), ("e4m3fnuz", "e5m2fnuz")]


def operands(kind: str, shape: tuple[int, ...], fmt: str, seed: int) -> Any:
    """Codes of near numbers with a row of zeros, of numbers far apart, or any codes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, shape).astype(np.uint8)
    far = 2.0 ** rng.integers(-8, 4, shape) if kind == "far" else 1.0
    return codes if kind == "any" else np.asarray(fp9.encode(rng.normal(size=shape) * far * (codes > 20), fmt))


def check(engine: str, formats: tuple[str, str], depths: tuple[int, ...]) -> None:
    for depth in depths:
        for kind in ("near", "far", "any"):
            a, b = operands(kind, (7, depth), formats[0], depth), operands(kind, (depth, 6), formats[1], depth + 1)
            want = fp9.matmul(a, b, *formats, engine)
            found = matmul(torch.from_numpy(a), torch.from_numpy(b), *formats, engine)
            assert np.array_equal(found.numpy(), want.astype(np.int64)), (kind, depth)


@pytest.mark.parametrize("engine", [*(name for name in ENGINES if name not in GROUPED), *VARIANTS])
def test_every_preset_has_the_bits_of_the_kernels(engine: str) -> None:
    check(engine, ("e4m3", "e4m3"), (0, 37))


def _codes(fmt: Format, shape: tuple[int, int], rng: np.random.Generator) -> Any:
    """Rows of any codes, of finite codes, or of the smallest magnitudes."""
    codes = np.arange(1 << fmt.bits).astype(fmt.dtype)
    numbers = np.abs(fp9.decode(codes, fmt))
    finite = codes[np.isfinite(numbers)]
    smallest = codes[np.argsort(numbers, kind="stable")[:6]]
    return np.stack([rng.choice((codes, finite, smallest)[row % 3], shape[1]) for row in range(shape[0])])


def _random_accumulators(seed: int) -> Iterator[Dot]:
    rng = Random(seed)
    while True:
        with contextlib.suppress(ValueError):
            unit = build(draw(rng, rng.choice(["dot", "fma"])))
            assert isinstance(unit, Dot)
            if integers.supports(unit.a[0], unit.b[0], unit.engine, torch.device("cpu")):
                yield unit


@pytest.mark.parametrize("seed", range(4))
def test_random_accumulators_have_the_bits_of_the_kernels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for unit in itertools.islice(_random_accumulators(seed), 100):
        formats = unit.a[0], unit.b[0]
        depth = int(rng.choice([1, 2, 5, 17, 40]))
        a, b = (_codes(fmt, (9, depth), rng) for fmt in formats)
        want = fp9.matmul(a, b.T, *formats, unit.engine).astype(np.int64)
        found = matmul(*(torch.from_numpy(x.astype(np.int64)) for x in (a, b.T)), *formats, unit.engine)
        assert np.array_equal(found.numpy(), want), unit


@pytest.mark.parametrize("engine", ["hopper_fp16", "ada_fp16(chunk=64)"])
def test_infinities_and_sums_that_overflow_have_the_bits_of_the_kernels(engine: str) -> None:
    rng, infinities = np.random.default_rng(3), np.uint8([0x7C, 0xFC])
    a, b = (np.asarray(fp9.encode(rng.normal(size=s) * 600, "e5m2")) for s in ((40, 130), (130, 30)))
    a[rng.random(a.shape) < 0.002] = infinities[0]
    b[rng.random(b.shape) < 0.002] = infinities[1]
    want = fp9.matmul(a, b, "e5m2", "e5m2", engine).astype(np.int64)
    assert len(np.unique(want[(want & 0x7C00) == 0x7C00])) == 3
    assert np.array_equal(matmul(torch.from_numpy(a), torch.from_numpy(b), "e5m2", "e5m2", engine).numpy(), want)


def test_rows_are_computed_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integers, "_CPU_TILE", 1)
    check("hopper", ("e4m3", "e4m3"), (37,))


@pytest.mark.slow
@pytest.mark.parametrize("formats", PAIRS, ids="-".join)
def test_other_formats_have_the_bits_of_the_kernels(formats: tuple[str, str]) -> None:
    infinities = fp9.format(formats[0]).has_inf or fp9.format(formats[1]).has_inf
    for engine, record in ENGINES.items():
        if engine not in GROUPED and not (infinities and record.nan.infinity_run is not None):
            check(engine, formats, (67,))


@pytest.mark.parametrize(
    ("engine", "sentence"),
    [
        ("blackwell_nvfp4", "has scaled groups"),
        ("fma_fp32(rounding=sr)", "has rounding sr"),
        ("amx_fp8", "has infinities that cancel"),
    ],
)
def test_what_the_integer_path_does_not_compute_is_refused(engine: str, sentence: str) -> None:
    a = torch.zeros((1, 4), dtype=torch.uint8)
    with pytest.raises(ValueError, match=sentence):
        matmul(a, a.t(), "e5m2", "e5m2", engine)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["hopper", "hopper_fp16", "arm_fdot4"])
def test_a_compiled_product_is_one_graph_with_the_same_bits(engine: str) -> None:
    a, b = operands("near", (5, 40), "e4m3", 1), operands("far", (40, 4), "e4m3", 2)
    graph = torch.compile(Product("e4m3", "e4m3", engine), backend="aot_eager", fullgraph=True)
    found = graph(torch.from_numpy(a), torch.from_numpy(b))
    assert np.array_equal(found.numpy(), fp9.matmul(a, b, "e4m3", "e4m3", engine).astype(np.int64))
