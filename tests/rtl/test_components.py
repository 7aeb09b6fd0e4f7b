"""The components against the golden model, without Verilog; the Verilog is checked at length in tests/sim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.rtl.compared import assert_equal
from tests.support.rosters import (
    ACCUMULATORS,
    CAST_SOURCES,
    CIRCUIT_TARGETS,
    DETERMINISTIC,
    OPERANDS,
    by_source,
    roundings_of,
    thinned,
)

from fp9.engines import ENGINES, Engine, Result, Step, engine
from fp9.formats import HFP8_BIASES, Format, Rounding, format
from fp9.formats.rounding import Overflow
from fp9.suites import inputs_of
from fp9.units import BIAS_BITS, CATALOGUE, Cast, Decoder, Dot, Fma, Mac, MacOp, Unit
from fp9_rtl import verilog

Columns = dict[str, NDArray[Any]]
Simulate = Callable[..., Columns]

OCP = (format("e4m3"), format("e5m2"))
FNUZ = (format("e4m3fnuz"), format("e5m2fnuz"))


def combined(**columns: Any) -> Columns:
    """Every combination of the columns' values."""
    grids = np.meshgrid(*(np.asarray(values) for values in columns.values()), indexing="ij")
    return {name: grid.ravel().astype(np.uint32) for name, grid in zip(columns, grids, strict=True)}


@pytest.mark.parametrize(
    "unit",
    [
        *(Decoder("decoder", (fmt,)) for fmt in OPERANDS),
        *(Decoder("decoder", group) for group in by_source(OPERANDS).values() if len(group) > 1),
    ],
    ids=lambda unit: " ".join(fmt.name for fmt in unit.formats),
)
def test_decoder_reads_every_code(unit: Decoder, simulate: Simulate) -> None:
    selects = {"code_format": range(len(unit.formats))} if len(unit.formats) > 1 else {}
    inputs = combined(code=range(1 << max(fmt.bits for fmt in unit.formats)), **selects)
    assert_equal(unit, inputs, simulate(unit, inputs))


def test_decoder_takes_every_extra_bias(simulate: Simulate) -> None:
    unit = CATALOGUE["decoder_hfp8"]
    biases = [bias % (1 << BIAS_BITS) for bias in HFP8_BIASES]
    inputs = combined(code=[0, 1, 7, 8, 0x7E, 0x7F, 0x80, 0x81, 0xFF], code_format=[0, 1], code_bias=biases)
    assert_equal(unit, inputs, simulate(unit, inputs))


def test_select_beyond_the_last_format_means_the_last(simulate: Simulate) -> None:
    unit = CATALOGUE["decoder_all"]
    inputs = combined(code=[0x00, 0x3C, 0x7C, 0x7F, 0x80], code_format=[4, 5, 7], code_bias=[4])
    assert_equal(unit, inputs, simulate(unit, inputs))


FUSED = [engine for engine in ENGINES.values() if engine.is_fused and engine.step.products == 1]


@pytest.mark.every(5)
@pytest.mark.parametrize("engine", FUSED, ids=lambda engine: engine.name)
@pytest.mark.parametrize("formats", by_source(OPERANDS).values(), ids=by_source(OPERANDS))
def test_fma_of_any_formats_in_any_result(engine: Engine, formats: tuple[Any, ...], simulate: Simulate) -> None:
    unit = Fma("fma", formats, formats, engine)
    inputs = inputs_of(unit, "random", 120, seed=1)
    assert_equal(unit, inputs, simulate(unit, inputs))


@pytest.mark.every(4)
@pytest.mark.parametrize("rounding", DETERMINISTIC, ids=lambda r: r.value)
@pytest.mark.parametrize("result", ACCUMULATORS, ids=str)
def test_fma_rounds_as_its_engine_says(rounding: Rounding, result: Format, simulate: Simulate) -> None:
    unit = Fma("fma", OCP, OCP, Engine("rounded", Result(result, rounding)))
    inputs = inputs_of(unit, "random", 120, seed=2)
    assert_equal(unit, inputs, simulate(unit, inputs))


def test_fp16_sum_below_the_normal_numbers_rounds_once(simulate: Simulate) -> None:
    """Products of e5m2 reach below fp16's smallest number: the sum is rounded at the subnormal place, not before."""
    unit = Fma("fma", OCP[1:], OCP[1:], ENGINES["fma_fp16"])
    addends = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x0401, 0x8401]
    tiny = [0x01, 0x02, 0x03, 0x05, 0x84, 0x0B, 0x93, 0x1F]
    inputs = combined(a=tiny, b=tiny, c=addends)
    assert_equal(unit, inputs, simulate(unit, inputs))


TARGET_GROUPS = by_source(CIRCUIT_TARGETS)


@pytest.mark.every(4)
@pytest.mark.parametrize("source", CAST_SOURCES, ids=str)
@pytest.mark.parametrize("targets", TARGET_GROUPS.values(), ids=TARGET_GROUPS)
def test_cast_of_any_source_to_any_target(source: Format, targets: tuple[Any, ...], simulate: Simulate) -> None:
    unit = Cast("cast", source, targets, roundings_of(source))
    inputs = inputs_of(unit, "random", 100 + 50 * len(targets), seed=3)
    assert_equal(unit, inputs, simulate(unit, inputs))


@pytest.mark.parametrize("rounding", DETERMINISTIC)
def test_ties_to_a_format_without_a_fraction(rounding: Rounding, simulate: Simulate) -> None:
    """To even is to the code that ends in 0 (numerics.md); ties below and beyond all numbers too."""
    unit = Cast("cast", format("fp32"), tuple(fmt for fmt in CIRCUIT_TARGETS if fmt.precision == 1), (rounding,))
    ties = np.ldexp(np.float32(1.5), np.arange(-70, 70)).astype(np.float32).view(np.uint32)
    inputs = combined(x=[*ties - 1, *ties, *ties + 1, *ties | 0x80000000], overflow=range(2))
    assert_equal(unit, inputs, simulate(unit, inputs))


def test_a_cast_to_unsigned_numbers_has_no_hardware() -> None:
    with pytest.raises(ValueError, match=r"^cast: no hardware for targets = e8m0 in a cast;"):
        verilog(Cast("cast", format("fp32"), (format("e8m0"),), (Rounding.RNE,)))


def test_cast_at_the_boundaries_of_overflow(simulate: Simulate) -> None:
    """464 ties to 448 in e4m3, 61440 overflows e5m2, 40960 hif8 (numerics.md, conversion)."""
    unit = Cast("cast", format("fp32"), (*OCP, format("hif8")), (Rounding.RNE, Rounding.RNA, Rounding.HYBRID))
    bounds = np.array([448, 464, 480, 57344, 61440, 65536, 32768, 40960, 49152, np.inf, np.nan], dtype=np.float32)
    codes = bounds.view(np.uint32).astype(np.int64)
    x = np.concatenate([codes - 1, codes, codes + 1]) & 0xFFFFFFFF
    inputs = combined(x=[*x, *(x ^ 0x80000000)], target=range(4), rounding=range(4), overflow=range(2))
    assert_equal(unit, inputs, simulate(unit, inputs))


def test_single_choices_need_no_port(simulate: Simulate) -> None:
    unit = Cast("cast", format("fp16"), OCP[:1], (Rounding.RNE,), (Overflow.INF,))
    inputs = {"x": np.arange(0, 0x10000, 97, dtype=np.uint32)}
    assert_equal(unit, inputs, simulate(unit, inputs))


@pytest.mark.every(2)
@pytest.mark.parametrize("stages", thinned(range(1, 7)))
def test_fma_pipelines_lose_and_repeat_nothing_under_stalls(stages: int, simulate: Simulate) -> None:
    unit = Fma("fma", OCP, OCP, ENGINES["fma_fp16"], stages=stages)
    inputs = inputs_of(unit, "random", 80, seed=stages)
    assert_equal(unit, inputs, simulate(unit, inputs, stalls=0.4, seed=stages))


@pytest.mark.every(2)
@pytest.mark.parametrize("stages", thinned(range(1, 5)))
def test_mac_accumulates_the_same_under_stalls(stages: int, simulate: Simulate) -> None:
    unit = Mac("mac", OCP, OCP, ENGINES["dlfloat"], stages=stages)
    inputs = inputs_of(unit, "random", 150, seed=stages)
    assert set(inputs["op"]) == {int(op) for op in unit.operations}
    for stalls in (0.0, 0.5):
        assert_equal(unit, inputs, simulate(unit, inputs, stalls=stalls, seed=stages))


@pytest.mark.every(7)
@pytest.mark.parametrize(
    "name",
    [
        "chunked(L=3)",
        "chunked(L=1)",
        "fma_fp32(chunk=2)",
        "fma_fp16(chunk=4, promotion=fp32)",
        "fma_fp32(chunk=2, promotion=dlfloat16)",
        "hopper(G=2, L=4)",
        "deepseek(G=2, L=6)",
    ],
)
def test_mac_with_chunks_of_any_formats(name: str, simulate: Simulate) -> None:
    unit = Mac("mac", OCP, OCP, engine(name), stages=2)
    inputs = inputs_of(unit, "random", 300, seed=3)
    assert set(inputs["op"]) == {int(op) for op in MacOp}
    assert_equal(unit, inputs, simulate(unit, inputs))


@pytest.mark.every(3)
@pytest.mark.parametrize("stages", range(2, 5))
def test_mac_with_chunks_sums_the_same_under_stalls(stages: int, simulate: Simulate) -> None:
    unit = Mac("mac", OCP, OCP, engine("chunked(L=3)"), stages=stages)
    inputs = inputs_of(unit, "random", 150, seed=stages)
    assert_equal(unit, inputs, simulate(unit, inputs, stalls=0.5, seed=stages))


EXACT = [
    ("fp16", "rdn", 2, OCP),
    ("bf16", "rup", 3, (format("hif8"), OCP[0])),
    ("e8m13", "rne", 4, FNUZ),
    ("dlfloat16", "rtz", 2, (format("hfp8_143"), format("hfp8_152"))),
    ("fp32", "rna", 2, (format("f143(bias=10)"), format("f152(bias=100)"))),
]


@pytest.mark.every(5)
@pytest.mark.parametrize(("result", "rounding", "products", "formats"), EXACT, ids=str)
def test_exact_sums_of_any_formats_in_any_result(
    result: str, rounding: str, products: int, formats: tuple[Any, ...], simulate: Simulate
) -> None:
    engine = Engine("exact_step", Result(format(result), Rounding(rounding)), step=Step(products))
    unit = Dot("dot", formats, formats, engine, bias_port=result == "dlfloat16")
    corner = inputs_of(unit, "corner", None, seed=3)
    chosen = np.random.default_rng(3).choice(len(corner["c"]), 40, replace=False)
    inputs = {name: column[chosen] for name, column in corner.items()}
    assert_equal(unit, inputs, simulate(unit, inputs))


def test_exact_sums_of_products_with_fewer_exponents_than_bits(simulate: Simulate) -> None:
    """Exponents of two bits, significands of eight: a product's place takes fewer bits than its significand has."""
    engine = Engine("exact_step", Result(format("fp16"), Rounding.RNE), step=Step(2))
    unit = Dot("dot", (format("binary3p1se"),), (format("1.1.6,b=0,specials=merged,subnormals=false"),), engine)
    inputs = inputs_of(unit, "random", 200, seed=3)
    assert_equal(unit, inputs, simulate(unit, inputs))


@pytest.mark.slow
@pytest.mark.parametrize("stages", thinned([1, 2, 6], 2))
def test_kulisch_accumulators_give_the_same_at_every_depth_under_stalls(stages: int, simulate: Simulate) -> None:
    lanes = 1 + stages % 3
    unit = Mac("mac", OCP[1:], OCP[1:], engine(f"exact(G={lanes},result=fp16,rounding=rdn)"), stages=stages)
    inputs = inputs_of(unit, "random", 60, seed=stages)
    assert_equal(unit, inputs, simulate(unit, inputs, stalls=0.3, seed=stages))


def test_results_without_flags_are_the_same(simulate: Simulate) -> None:
    unit = Fma("fma", OCP, OCP, ENGINES["fma_fp32"])
    bare = replace(unit, flags=False)
    inputs = inputs_of(unit, "random", 100, seed=5)
    assert list(simulate(bare, inputs)) == ["result"]
    assert_equal(bare, inputs, simulate(bare, inputs))


@pytest.mark.parametrize(
    "unit",
    [
        Cast("cast", format("fp32"), OCP, (Rounding.SRB,)),
        Fma("fma", OCP, OCP, Engine("sum", step=Step(exact=True))),
    ],
    ids=lambda unit: unit.kind,
)
def test_a_spec_without_hardware_is_refused(unit: Unit) -> None:
    with pytest.raises(ValueError, match=rf"^{unit.name}: no hardware for .* in a .*; give "):
        verilog(unit)
